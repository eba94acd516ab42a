/* SPDX-License-Identifier: MIT */
/* The instructions of CPython 3.11 to 3.15: X(name, then for each version the number and the number of inline
 * cache units). The number is -1 where a version does not have the instruction. The numbers come from each
 * interpreter's own `opcode` module, and are compared with it again in each process that records.
 * Instructions that only a running interpreter writes into code (INSTRUMENTED_.., specialised ones) are left
 * out on purpose: code that holds one is refused. */
#ifndef CLP_OPCODE_TABLE_H
#define CLP_OPCODE_TABLE_H

enum { CLP_OPCODE_FIRST_MINOR = 11, CLP_OPCODE_LAST_MINOR = 15 };
enum { CLP_OPCODE_VERSIONS = CLP_OPCODE_LAST_MINOR - CLP_OPCODE_FIRST_MINOR + 1 };

/* clang-format off */
#define CLP_OPCODE_TABLE(X) \
    X(ASYNC_GEN_WRAP,                      87, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(BEFORE_ASYNC_WITH,                   52, 0,   52, 0,    1, 0,   -1, 0,   -1, 0) \
    X(BEFORE_WITH,                         53, 0,   53, 0,    2, 0,   -1, 0,   -1, 0) \
    X(BINARY_OP,                          122, 1,  122, 1,   45, 1,   44, 5,   42, 5) \
    X(BINARY_SLICE,                        -1, 0,   26, 0,    4, 0,    1, 0,    1, 0) \
    X(BINARY_SUBSCR,                       25, 4,   25, 1,    5, 1,   -1, 0,   -1, 0) \
    X(BUILD_CONST_KEY_MAP,                156, 0,  156, 0,   46, 0,   -1, 0,   -1, 0) \
    X(BUILD_INTERPOLATION,                 -1, 0,   -1, 0,   -1, 0,   45, 0,   43, 0) \
    X(BUILD_LIST,                         103, 0,  103, 0,   47, 0,   46, 0,   44, 0) \
    X(BUILD_MAP,                          105, 0,  105, 0,   48, 0,   47, 0,   45, 0) \
    X(BUILD_SET,                          104, 0,  104, 0,   49, 0,   48, 0,   46, 0) \
    X(BUILD_SLICE,                        133, 0,  133, 0,   50, 0,   49, 0,   47, 0) \
    X(BUILD_STRING,                       157, 0,  157, 0,   51, 0,   50, 0,   48, 0) \
    X(BUILD_TEMPLATE,                      -1, 0,   -1, 0,   -1, 0,    2, 0,    2, 0) \
    X(BUILD_TUPLE,                        102, 0,  102, 0,   52, 0,   51, 0,   49, 0) \
    X(CALL,                               171, 4,  171, 3,   53, 3,   52, 3,   50, 3) \
    X(CALL_FUNCTION_EX,                   142, 0,  142, 0,   54, 0,    4, 0,    4, 1) \
    X(CALL_INTRINSIC_1,                    -1, 0,  173, 0,   55, 0,   53, 0,   51, 0) \
    X(CALL_INTRINSIC_2,                    -1, 0,  174, 0,   56, 0,   54, 0,   52, 0) \
    X(CALL_KW,                             -1, 0,   -1, 0,   57, 0,   55, 3,   53, 3) \
    X(CHECK_EG_MATCH,                      37, 0,   37, 0,    6, 0,    5, 0,    5, 0) \
    X(CHECK_EXC_MATCH,                     36, 0,   36, 0,    7, 0,    6, 0,    6, 0) \
    X(CLEANUP_THROW,                       -1, 0,   55, 0,    8, 0,    7, 0,    7, 0) \
    X(COMPARE_OP,                         107, 2,  107, 1,   58, 1,   56, 1,   54, 1) \
    X(CONTAINS_OP,                        118, 0,  118, 0,   59, 1,   57, 1,   55, 1) \
    X(CONVERT_VALUE,                       -1, 0,   -1, 0,   60, 0,   58, 0,   56, 0) \
    X(COPY,                               120, 0,  120, 0,   61, 0,   59, 0,   57, 0) \
    X(COPY_FREE_VARS,                     149, 0,  149, 0,   62, 0,   60, 0,   58, 0) \
    X(DELETE_ATTR,                         96, 0,   96, 0,   63, 0,   61, 0,   59, 0) \
    X(DELETE_DEREF,                       139, 0,  139, 0,   64, 0,   62, 0,   60, 0) \
    X(DELETE_FAST,                        126, 0,  126, 0,   65, 0,   63, 0,   61, 0) \
    X(DELETE_GLOBAL,                       98, 0,   98, 0,   66, 0,   64, 0,   62, 0) \
    X(DELETE_NAME,                         91, 0,   91, 0,   67, 0,   65, 0,   63, 0) \
    X(DELETE_SUBSCR,                       61, 0,   61, 0,    9, 0,    8, 0,    8, 0) \
    X(DICT_MERGE,                         164, 0,  164, 0,   68, 0,   66, 0,   64, 0) \
    X(DICT_UPDATE,                        165, 0,  165, 0,   69, 0,   67, 0,   65, 0) \
    X(END_ASYNC_FOR,                       54, 0,   54, 0,   10, 0,   68, 0,   66, 0) \
    X(END_FOR,                             -1, 0,    4, 0,   11, 0,    9, 0,    9, 0) \
    X(END_SEND,                            -1, 0,    5, 0,   12, 0,   10, 0,   10, 0) \
    X(EXIT_INIT_CHECK,                     -1, 0,   -1, 0,   13, 0,   11, 0,   11, 0) \
    X(EXTENDED_ARG,                       144, 0,  144, 0,   71, 0,   69, 0,   67, 0) \
    X(FORMAT_SIMPLE,                       -1, 0,   -1, 0,   14, 0,   12, 0,   12, 0) \
    X(FORMAT_VALUE,                       155, 0,  155, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(FORMAT_WITH_SPEC,                    -1, 0,   -1, 0,   15, 0,   13, 0,   13, 0) \
    X(FOR_ITER,                            93, 0,   93, 1,   72, 1,   70, 1,   68, 1) \
    X(GET_AITER,                           50, 0,   50, 0,   16, 0,   14, 0,   14, 0) \
    X(GET_ANEXT,                           51, 0,   51, 0,   18, 0,   15, 0,   15, 0) \
    X(GET_AWAITABLE,                      131, 0,  131, 0,   73, 0,   71, 0,   69, 0) \
    X(GET_ITER,                            68, 0,   68, 0,   19, 0,   16, 0,   70, 1) \
    X(GET_LEN,                             30, 0,   30, 0,   20, 0,   18, 0,   16, 0) \
    X(GET_YIELD_FROM_ITER,                 69, 0,   69, 0,   21, 0,   19, 0,   -1, 0) \
    X(IMPORT_FROM,                        109, 0,  109, 0,   74, 0,   72, 0,   71, 0) \
    X(IMPORT_NAME,                        108, 0,  108, 0,   75, 0,   73, 0,   72, 0) \
    X(IMPORT_STAR,                         84, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(INTERPRETER_EXIT,                    -1, 0,    3, 0,   22, 0,   20, 0,   18, 0) \
    X(IS_OP,                              117, 0,  117, 0,   76, 0,   74, 0,   73, 0) \
    X(JUMP_BACKWARD,                      140, 0,  140, 0,   77, 1,   75, 1,   74, 1) \
    X(JUMP_BACKWARD_NO_INTERRUPT,         134, 0,  134, 0,   78, 0,   76, 0,   75, 0) \
    X(JUMP_FORWARD,                       110, 0,  110, 0,   79, 0,   77, 0,   76, 0) \
    X(JUMP_IF_FALSE_OR_POP,               111, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(JUMP_IF_TRUE_OR_POP,                112, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(KW_NAMES,                           172, 0,  172, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(LIST_APPEND,                        145, 0,  145, 0,   80, 0,   78, 0,   77, 0) \
    X(LIST_EXTEND,                        162, 0,  162, 0,   81, 0,   79, 0,   78, 0) \
    X(LIST_TO_TUPLE,                       82, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(LOAD_ASSERTION_ERROR,                74, 0,   74, 0,   23, 0,   -1, 0,   -1, 0) \
    X(LOAD_ATTR,                          106, 4,  106, 9,   82, 9,   80, 9,   79, 9) \
    X(LOAD_BUILD_CLASS,                    71, 0,   71, 0,   24, 0,   21, 0,   19, 0) \
    X(LOAD_CLASSDEREF,                    148, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(LOAD_CLOSURE,                       136, 0,  136, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(LOAD_COMMON_CONSTANT,                -1, 0,   -1, 0,   -1, 0,   81, 0,   80, 0) \
    X(LOAD_CONST,                         100, 0,  100, 0,   83, 0,   82, 0,   81, 0) \
    X(LOAD_DEREF,                         137, 0,  137, 0,   84, 0,   83, 0,   82, 0) \
    X(LOAD_FAST,                          124, 0,  124, 0,   85, 0,   84, 0,   83, 0) \
    X(LOAD_FAST_AND_CLEAR,                 -1, 0,  143, 0,   86, 0,   85, 0,   84, 0) \
    X(LOAD_FAST_BORROW,                    -1, 0,   -1, 0,   -1, 0,   86, 0,   85, 0) \
    X(LOAD_FAST_BORROW_LOAD_FAST_BORROW,   -1, 0,   -1, 0,   -1, 0,   87, 0,   86, 0) \
    X(LOAD_FAST_CHECK,                     -1, 0,  127, 0,   87, 0,   88, 0,   87, 0) \
    X(LOAD_FAST_LOAD_FAST,                 -1, 0,   -1, 0,   88, 0,   89, 0,   88, 0) \
    X(LOAD_FROM_DICT_OR_DEREF,             -1, 0,  176, 0,   89, 0,   90, 0,   89, 0) \
    X(LOAD_FROM_DICT_OR_GLOBALS,           -1, 0,  175, 0,   90, 0,   91, 0,   90, 0) \
    X(LOAD_GLOBAL,                        116, 5,  116, 4,   91, 4,   92, 4,   91, 4) \
    X(LOAD_LOCALS,                         -1, 0,   87, 0,   25, 0,   22, 0,   20, 0) \
    X(LOAD_METHOD,                        160, 10,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(LOAD_NAME,                          101, 0,  101, 0,   92, 0,   93, 0,   92, 0) \
    X(LOAD_SMALL_INT,                      -1, 0,   -1, 0,   -1, 0,   94, 0,   93, 0) \
    X(LOAD_SPECIAL,                        -1, 0,   -1, 0,   -1, 0,   95, 0,   94, 0) \
    X(LOAD_SUPER_ATTR,                     -1, 0,  141, 1,   93, 1,   96, 1,   95, 1) \
    X(MAKE_CELL,                          135, 0,  135, 0,   94, 0,   97, 0,   96, 0) \
    X(MAKE_FUNCTION,                      132, 0,  132, 0,   26, 0,   23, 0,   21, 0) \
    X(MAP_ADD,                            147, 0,  147, 0,   95, 0,   98, 0,   97, 0) \
    X(MATCH_CLASS,                        152, 0,  152, 0,   96, 0,   99, 0,   98, 0) \
    X(MATCH_KEYS,                          33, 0,   33, 0,   27, 0,   24, 0,   22, 0) \
    X(MATCH_MAPPING,                       31, 0,   31, 0,   28, 0,   25, 0,   23, 0) \
    X(MATCH_SEQUENCE,                      32, 0,   32, 0,   29, 0,   26, 0,   24, 0) \
    X(NOP,                                  9, 0,    9, 0,   30, 0,   27, 0,   25, 0) \
    X(NOT_TAKEN,                           -1, 0,   -1, 0,   -1, 0,   28, 0,   26, 0) \
    X(POP_EXCEPT,                          89, 0,   89, 0,   31, 0,   29, 0,   27, 0) \
    X(POP_ITER,                            -1, 0,   -1, 0,   -1, 0,   30, 0,   28, 0) \
    X(POP_JUMP_BACKWARD_IF_FALSE,         175, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(POP_JUMP_BACKWARD_IF_NONE,          174, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(POP_JUMP_BACKWARD_IF_NOT_NONE,      173, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(POP_JUMP_BACKWARD_IF_TRUE,          176, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(POP_JUMP_FORWARD_IF_FALSE,          114, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(POP_JUMP_FORWARD_IF_NONE,           129, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(POP_JUMP_FORWARD_IF_NOT_NONE,       128, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(POP_JUMP_FORWARD_IF_TRUE,           115, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(POP_JUMP_IF_FALSE,                   -1, 0,  114, 0,   97, 1,  100, 1,   99, 1) \
    X(POP_JUMP_IF_NONE,                    -1, 0,  129, 0,   98, 1,  101, 1,  100, 1) \
    X(POP_JUMP_IF_NOT_NONE,                -1, 0,  128, 0,   99, 1,  102, 1,  101, 1) \
    X(POP_JUMP_IF_TRUE,                    -1, 0,  115, 0,  100, 1,  103, 1,  102, 1) \
    X(POP_TOP,                              1, 0,    1, 0,   32, 0,   31, 0,   29, 0) \
    X(PRECALL,                            166, 1,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(PREP_RERAISE_STAR,                   88, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(PRINT_EXPR,                          70, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(PUSH_EXC_INFO,                       35, 0,   35, 0,   33, 0,   32, 0,   30, 0) \
    X(PUSH_NULL,                            2, 0,    2, 0,   34, 0,   33, 0,   31, 0) \
    X(RAISE_VARARGS,                      130, 0,  130, 0,  101, 0,  104, 0,  103, 0) \
    X(RERAISE,                            119, 0,  119, 0,  102, 0,  105, 0,  104, 0) \
    X(RESUME,                             151, 0,  151, 0,  149, 0,  128, 0,  128, 1) \
    X(RETURN_CONST,                        -1, 0,  121, 0,  103, 0,   -1, 0,   -1, 0) \
    X(RETURN_GENERATOR,                    75, 0,   75, 0,   35, 0,   34, 0,   32, 0) \
    X(RETURN_VALUE,                        83, 0,   83, 0,   36, 0,   35, 0,   33, 0) \
    X(SEND,                               123, 0,  123, 1,  104, 1,  106, 1,  105, 1) \
    X(SETUP_ANNOTATIONS,                   85, 0,   85, 0,   37, 0,   36, 0,   34, 0) \
    X(SET_ADD,                            146, 0,  146, 0,  105, 0,  107, 0,  106, 0) \
    X(SET_FUNCTION_ATTRIBUTE,              -1, 0,   -1, 0,  106, 0,  108, 0,  107, 0) \
    X(SET_UPDATE,                         163, 0,  163, 0,  107, 0,  109, 0,  108, 0) \
    X(STORE_ATTR,                          95, 4,   95, 4,  108, 4,  110, 4,  109, 4) \
    X(STORE_DEREF,                        138, 0,  138, 0,  109, 0,  111, 0,  110, 0) \
    X(STORE_FAST,                         125, 0,  125, 0,  110, 0,  112, 0,  111, 0) \
    X(STORE_FAST_LOAD_FAST,                -1, 0,   -1, 0,  111, 0,  113, 0,  112, 0) \
    X(STORE_FAST_STORE_FAST,               -1, 0,   -1, 0,  112, 0,  114, 0,  113, 0) \
    X(STORE_GLOBAL,                        97, 0,   97, 0,  113, 0,  115, 0,  114, 0) \
    X(STORE_NAME,                          90, 0,   90, 0,  114, 0,  116, 0,  115, 0) \
    X(STORE_SLICE,                         -1, 0,   27, 0,   38, 0,   37, 0,   35, 0) \
    X(STORE_SUBSCR,                        60, 1,   60, 1,   39, 1,   38, 1,   36, 1) \
    X(SWAP,                                99, 0,   99, 0,  115, 0,  117, 0,  116, 0) \
    X(TO_BOOL,                             -1, 0,   -1, 0,   40, 3,   39, 3,   37, 3) \
    X(UNARY_INVERT,                        15, 0,   15, 0,   41, 0,   40, 0,   38, 0) \
    X(UNARY_NEGATIVE,                      11, 0,   11, 0,   42, 0,   41, 0,   39, 0) \
    X(UNARY_NOT,                           12, 0,   12, 0,   43, 0,   42, 0,   40, 0) \
    X(UNARY_POSITIVE,                      10, 0,   -1, 0,   -1, 0,   -1, 0,   -1, 0) \
    X(UNPACK_EX,                           94, 0,   94, 0,  116, 0,  118, 0,  117, 0) \
    X(UNPACK_SEQUENCE,                     92, 1,   92, 1,  117, 1,  119, 1,  118, 1) \
    X(WITH_EXCEPT_START,                   49, 0,   49, 0,   44, 0,   43, 0,   41, 0) \
    X(YIELD_VALUE,                         86, 0,  150, 0,  118, 0,  120, 0,  119, 0)
/* clang-format on */

#endif
