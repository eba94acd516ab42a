/* SPDX-License-Identifier: MIT */
/* The end of a block is found as inspect.getblock finds it. A scanner cuts the text into Python's tokens. A finder
 * looks only at line ends, indentation, comments and the words that open a block. Both stop at the first token behind
 * the block.
 *
 * Since Python 3.12 an f-string may hold any expression, even one with the same quotes. So the scanner keeps a stack of
 * modes, one for each part of an f-string that it is in:
 *
 *   f"text {expression:spec {expression}} text"
 *
 *   TEXT   inside the quotes; ends at the quote, or a brace opens an EXPRESSION
 *   EXPRESSION   ordinary tokens; ends at its brace, or a colon turns it into a SPEC
 *   SPEC   what follows the colon; ends at the brace that ends the expression */
#include "source_block.h"
#include <string.h>

/* CPython's own limits; text that is nested deeper does not compile. */
#define CLP_MAX_INDENTS 100
#define CLP_MAX_MODES 200

enum token {
    CLP_TOKEN_OTHER,
    CLP_TOKEN_BLOCK,  /* def, class */
    CLP_TOKEN_LAMBDA,
    CLP_TOKEN_DECORATOR,
    CLP_TOKEN_NEWLINE, /* the end of a logical line */
    CLP_TOKEN_INDENT,
    CLP_TOKEN_DEDENT,
    CLP_TOKEN_COMMENT
};

/* The finder. Rows count from 1 at the block's first line, columns from 0. */
struct finder {
    bool started;      /* a def, class or lambda was seen */
    bool is_lambda;
    bool in_decorator; /* until the end of its line */
    bool skip_line;    /* the rest of this logical line does not matter */
    bool done;
    long body_column;  /* indentation of the body; -1 before the body begins */
    int indent;
    int32_t last;      /* the answer so far */
};

enum mode_kind { CLP_MODE_TEXT, CLP_MODE_EXPRESSION, CLP_MODE_SPEC };

struct mode {
    enum mode_kind kind;
    char quote;
    bool triple;
    int level; /* bracket level inside the expression's brace */
};

struct scanner {
    const char *at, *end;
    const char *line_start;
    int32_t row;
    int32_t used_row; /* row where the last token ended */
    bool line_start_due; /* the next byte is a line's first, outside brackets */
    bool line_used;   /* the logical line has a token */
    int level;        /* open brackets, braces of f-strings included */
    long indents[CLP_MAX_INDENTS];
    size_t indent_count;
    struct mode modes[CLP_MAX_MODES];
    size_t mode_count;
    struct finder finder;
    bool with;               /* `with` opens a block, too */
    bool name_due;           /* the next word is the name of the block's def or class */
    struct clp_span defined; /* the name of the block's def or class; empty: none was seen */
};

/* Looks for the start of the block. A statement that opens no block is its own block, where inspect would go on to the
 * next def. */
static void find_start(struct finder *finder, enum token token, int32_t row)
{
    if (token == CLP_TOKEN_DECORATOR) {
        finder->in_decorator = true;
    } else if (token == CLP_TOKEN_BLOCK || token == CLP_TOKEN_LAMBDA) {
        finder->started = true;
        finder->is_lambda = token == CLP_TOKEN_LAMBDA;
    } else if (token == CLP_TOKEN_NEWLINE) {
        finder->last = row;
        finder->done = true;
    }
    finder->skip_line = true;
}

static void find_line_end(struct finder *finder, int32_t row)
{
    finder->skip_line = false;
    finder->last = row;
    finder->in_decorator = false;
    if (finder->is_lambda)
        finder->done = true;
}

static void find_indent(struct finder *finder, long column)
{
    if (finder->body_column < 0)
        finder->body_column = column;
    finder->indent++;
    finder->skip_line = true;
}

static void find_token(struct finder *finder, enum token token, int32_t row, long column)
{
    if (!finder->started && !finder->in_decorator)
        find_start(finder, token, row);
    else if (token == CLP_TOKEN_NEWLINE)
        find_line_end(finder, row);
    else if (finder->skip_line)
        return;
    else if (token == CLP_TOKEN_INDENT)
        find_indent(finder, column);
    else if (token == CLP_TOKEN_DEDENT)
        finder->done = --finder->indent <= 0;
    else if (token == CLP_TOKEN_COMMENT && finder->body_column >= 0 &&
             column >= finder->body_column)
        finder->last = row;
    else if (token != CLP_TOKEN_COMMENT && finder->indent == 0)
        finder->done = true;
}

static long column_of(const struct scanner *scanner, const char *at)
{
    return (long)(at - scanner->line_start);
}

static void emit(struct scanner *scanner, enum token token)
{
    scanner->line_used = true;
    scanner->used_row = scanner->row;
    find_token(&scanner->finder, token, scanner->row, column_of(scanner, scanner->at));
}

static void emit_newline(struct scanner *scanner, int32_t row)
{
    scanner->line_used = false;
    find_token(&scanner->finder, CLP_TOKEN_NEWLINE, row, 0);
}

static void take_line_end(struct scanner *scanner)
{
    scanner->at = clp_source_behind_line_end(scanner->at, scanner->end);
    scanner->line_start = scanner->at;
    scanner->row++;
}

/* Takes a backslash and what it escapes: one byte, or a line end. */
static void take_escaped(struct scanner *scanner)
{
    scanner->at++;
    if (scanner->at == scanner->end)
        return;
    if (clp_source_is_line_end(*scanner->at))
        take_line_end(scanner);
    else
        scanner->at++;
}

static struct mode *top_mode(struct scanner *scanner)
{
    return scanner->mode_count != 0 ? &scanner->modes[scanner->mode_count - 1] : NULL;
}

static void push_mode(struct scanner *scanner, struct mode mode)
{
    if (scanner->mode_count == CLP_MAX_MODES)
        scanner->finder.done = true;
    else
        scanner->modes[scanner->mode_count++] = mode;
}

static bool at_quotes(const struct scanner *scanner, char quote, bool triple)
{
    const char *at = scanner->at;

    if (*at != quote)
        return false;
    return !triple || (scanner->end - at >= 3 && at[1] == quote && at[2] == quote);
}

/* Takes the opening quotes of a string. True when there are three. */
static bool take_opening_quotes(struct scanner *scanner)
{
    bool triple = at_quotes(scanner, *scanner->at, true);

    scanner->at += triple ? 3 : 1;
    return triple;
}

static void scan_string(struct scanner *scanner)
{
    char quote = *scanner->at;
    bool triple = take_opening_quotes(scanner);

    while (scanner->at < scanner->end) {
        if (*scanner->at == '\\') {
            take_escaped(scanner);
        } else if (at_quotes(scanner, quote, triple)) {
            scanner->at += triple ? 3 : 1;
            return;
        } else if (!clp_source_is_line_end(*scanner->at)) {
            scanner->at++;
        } else if (triple) {
            take_line_end(scanner);
        } else {
            return; /* the string is not closed, and Python would refuse it */
        }
    }
}

/* Takes a backslash in an f-string, and what it escapes. A brace is not escaped by it. (The braces of \N{NAME} are
 * taken for those of an expression, which does no harm, as such a name has only letters, digits, dashes and spaces.) */
static void scan_format_escape(struct scanner *scanner)
{
    const char *at = scanner->at;

    if (scanner->end - at > 1 && (at[1] == '{' || at[1] == '}'))
        scanner->at++;
    else
        take_escaped(scanner);
}

static void scan_format_open(struct scanner *scanner, const struct mode *mode)
{
    bool doubled = scanner->end - scanner->at > 1 && scanner->at[1] == '{';

    if (doubled && mode->kind == CLP_MODE_TEXT) {
        scanner->at += 2;
        return;
    }
    scanner->at++;
    scanner->level++;
    struct mode inner = *mode;
    inner.kind = CLP_MODE_EXPRESSION;
    inner.level = scanner->level;
    push_mode(scanner, inner);
}

/* Takes one step through the text or the format spec of an f-string. */
static void scan_format_text(struct scanner *scanner)
{
    struct mode *mode = top_mode(scanner);
    bool is_text = mode->kind == CLP_MODE_TEXT;
    char c = *scanner->at;

    if (c == '\\') {
        scan_format_escape(scanner);
    } else if (c == '{') {
        scan_format_open(scanner, mode);
    } else if (c == '}' && !is_text) {
        scanner->at++;
        scanner->level--;
        scanner->mode_count--;
    } else if (is_text && at_quotes(scanner, mode->quote, mode->triple)) {
        scanner->at += mode->triple ? 3 : 1;
        scanner->mode_count--;
        scanner->used_row = scanner->row;
    } else if (!clp_source_is_line_end(c)) {
        scanner->at++;
    } else if (is_text && !mode->triple) {
        scanner->mode_count--; /* the f-string is not closed */
    } else {
        take_line_end(scanner);
    }
}

static bool has_letter(const char *word, size_t bytes, char letter)
{
    for (size_t i = 0; i < bytes; i++)
        if ((word[i] | 0x20) == letter)
            return true;
    return false;
}

/* Is the word before a quote the prefix of an f-string (f, fr, rf, ..) or of a t-string of 3.14, which has the same
 * form? */
static bool is_format_prefix(const char *word, size_t bytes)
{
    if (bytes == 0 || bytes > 2)
        return false;
    if (bytes == 2 && !has_letter(word, bytes, 'r'))
        return false;
    return has_letter(word, bytes, 'f') || has_letter(word, bytes, 't');
}

static const char *behind_blanks(const char *at, const char *end)
{
    return clp_source_unindented((struct clp_span){at, (size_t)(end - at)}).text;
}

/* Does the word begin a definition in Cython's language? In Python no name can follow it. */
static bool is_cython_def(const struct scanner *scanner, const char *word, size_t bytes)
{
    if (!(bytes == 4 && memcmp(word, "cdef", 4) == 0) && !(bytes == 5 && memcmp(word, "cpdef", 5) == 0))
        return false;
    const char *next = behind_blanks(word + bytes, scanner->end);
    return next > word + bytes && next < scanner->end && clp_source_is_word_byte(*next);
}

static enum token token_of_word(const struct scanner *scanner, const char *word, size_t bytes)
{
    if (scanner->with && bytes == 4 && memcmp(word, "with", 4) == 0)
        return CLP_TOKEN_BLOCK;
    if ((bytes == 3 && memcmp(word, "def", 3) == 0) || is_cython_def(scanner, word, bytes))
        return CLP_TOKEN_BLOCK;
    if (bytes == 5 && memcmp(word, "class", 5) == 0)
        return CLP_TOKEN_BLOCK;
    if (bytes == 6 && memcmp(word, "lambda", 6) == 0)
        return CLP_TOKEN_LAMBDA;
    return CLP_TOKEN_OTHER;
}

/* Does a statement begin with this word, which is def or class, or with async before it? If not, the text is not
 * Python. */
static bool begins_statement(const struct scanner *scanner, const char *word)
{
    const char *at = behind_blanks(scanner->line_start, word);

    if (word - at > 5 && memcmp(at, "async", 5) == 0)
        at = behind_blanks(at + 5, word);
    return at == word;
}

/* Notes the name of the block's def or class, which is the word behind `def` or `class`. */
static void note_name(struct scanner *scanner, const char *word, size_t bytes, enum token token)
{
    const struct finder *finder = &scanner->finder;

    if (scanner->name_due)
        scanner->defined = (struct clp_span){word, bytes};
    scanner->name_due = token == CLP_TOKEN_BLOCK && !finder->started && !finder->in_decorator &&
                        begins_statement(scanner, word);
}

/* Takes a name, a keyword, a number, or a string with or without a prefix. */
static void scan_word(struct scanner *scanner)
{
    const char *word = scanner->at;

    while (scanner->at < scanner->end && clp_source_is_word_byte(*scanner->at))
        scanner->at++;
    size_t bytes = (size_t)(scanner->at - word);
    bool quoted = scanner->at < scanner->end && (*scanner->at == '\'' || *scanner->at == '"');
    if (quoted && is_format_prefix(word, bytes)) {
        struct mode mode = {.kind = CLP_MODE_TEXT, .quote = *scanner->at};
        mode.triple = take_opening_quotes(scanner);
        push_mode(scanner, mode);
    } else if (quoted) {
        scan_string(scanner);
    }
    enum token token = quoted ? CLP_TOKEN_OTHER : token_of_word(scanner, word, bytes);
    note_name(scanner, word, bytes, token);
    emit(scanner, token);
}

static void scan_close(struct scanner *scanner, char c)
{
    struct mode *mode = top_mode(scanner);

    if (mode != NULL && scanner->level == mode->level) {
        if (c != '}')
            return; /* this bracket cannot close the f-string's brace */
        scanner->mode_count--;
    }
    if (scanner->level > 0) /* the block may start inside brackets that opened before it */
        scanner->level--;
}

static void scan_operator(struct scanner *scanner)
{
    struct mode *mode = top_mode(scanner);
    char c = *scanner->at;
    bool decorates = c == '@' && !scanner->line_used;

    emit(scanner, decorates ? CLP_TOKEN_DECORATOR : CLP_TOKEN_OTHER);
    scanner->at++;
    if (c == '(' || c == '[' || c == '{')
        scanner->level++;
    else if (c == ')' || c == ']' || c == '}')
        scan_close(scanner, c);
    else if (c == ':' && mode != NULL && scanner->level == mode->level)
        mode->kind = CLP_MODE_SPEC;
}

static void scan_comment(struct scanner *scanner)
{
    find_token(&scanner->finder, CLP_TOKEN_COMMENT, scanner->row,
               column_of(scanner, scanner->at));
    while (scanner->at < scanner->end && !clp_source_is_line_end(*scanner->at))
        scanner->at++;
}

static void scan_line_end(struct scanner *scanner)
{
    if (scanner->level == 0 && scanner->line_used)
        emit_newline(scanner, scanner->row);
    take_line_end(scanner);
    scanner->line_start_due = scanner->level == 0;
}

static void scan_token(struct scanner *scanner)
{
    char c = *scanner->at;

    if (c == ' ' || c == '\t' || c == '\f')
        scanner->at++;
    else if (clp_source_is_line_end(c))
        scan_line_end(scanner);
    else if (c == '#')
        scan_comment(scanner);
    else if (c == '\\')
        take_escaped(scanner);
    else if (c == '\'' || c == '"' || clp_source_is_word_byte(c))
        scan_word(scanner);
    else
        scan_operator(scanner);
}

static void find_dedents(struct scanner *scanner, long width)
{
    while (scanner->indents[scanner->indent_count - 1] > width && !scanner->finder.done) {
        scanner->indent_count--;
        find_token(&scanner->finder, CLP_TOKEN_DEDENT, scanner->row, width);
    }
}

/* Takes the white space before a logical line. Blank lines and lines with only a comment change no indentation. A tab
 * counts as one column; any other width would do, too, as Python refuses a text whose meaning depends on it. */
static void scan_indentation(struct scanner *scanner)
{
    long width = 0;

    scanner->line_start_due = false;
    for (; scanner->at < scanner->end; scanner->at++) {
        if (*scanner->at == ' ' || *scanner->at == '\t')
            width++;
        else if (*scanner->at == '\f')
            width = 0;
        else
            break;
    }
    if (scanner->at == scanner->end || clp_source_is_line_end(*scanner->at) || *scanner->at == '#')
        return;
    if (width <= scanner->indents[scanner->indent_count - 1]) {
        find_dedents(scanner, width);
    } else if (scanner->indent_count == CLP_MAX_INDENTS) {
        scanner->finder.done = true;
    } else {
        scanner->indents[scanner->indent_count++] = width;
        find_token(&scanner->finder, CLP_TOKEN_INDENT, scanner->row,
                   column_of(scanner, scanner->at));
    }
}

static void scan_step(struct scanner *scanner)
{
    struct mode *mode = top_mode(scanner);

    if (mode != NULL && mode->kind != CLP_MODE_EXPRESSION)
        scan_format_text(scanner);
    else if (scanner->line_start_due)
        scan_indentation(scanner);
    else
        scan_token(scanner);
}

static struct scanner scanner_of(struct clp_span block)
{
    return (struct scanner){
        .at = block.text,
        .end = block.text + block.bytes,
        .line_start = block.text,
        .line_start_due = true,
        .row = 1,
        .indent_count = 1,
        .finder = {.body_column = -1, .last = 1},
    };
}

static void scan_block(struct scanner *scanner)
{
    while (!scanner->finder.done && scanner->at < scanner->end)
        scan_step(scanner);
    if (!scanner->finder.done && scanner->line_used)
        emit_newline(scanner, scanner->used_row);
}

static int32_t block_end(struct clp_span text, int32_t first, bool with)
{
    struct clp_span block = clp_source_behind_lines(clp_source_without_mark(text), first - 1);

    if (block.bytes == 0)
        return first;
    struct scanner scanner = scanner_of(block);
    scanner.with = with;
    scan_block(&scanner);
    return first + scanner.finder.last - 1;
}

int32_t clp_source_block_end(struct clp_span text, int32_t first)
{
    return block_end(text, first, false);
}

int32_t clp_source_with_end(struct clp_span text, int32_t first)
{
    return block_end(text, first, true);
}

bool clp_source_block_of(struct clp_span text, const char *name, int32_t *last)
{
    const char *dot = strrchr(name, '.'), *own = dot != NULL ? dot + 1 : name;
    struct clp_span block = clp_source_without_mark(text);
    struct scanner scanner = scanner_of(block);
    const char *first = behind_blanks(scanner.at, scanner.end);

    scan_block(&scanner);
    *last = scanner.finder.last;
    if (first == scanner.end || clp_source_is_line_end(*first) || *first == '#')
        return false; /* the block does not start in the first line */
    if (strcmp(own, "<lambda>") == 0)
        return scanner.finder.started && scanner.finder.is_lambda;
    return scanner.defined.bytes != 0 && scanner.defined.bytes == strlen(own) &&
           memcmp(scanner.defined.text, own, scanner.defined.bytes) == 0;
}
