/* SPDX-License-Identifier: MIT */
/* Finds the end of a block as inspect.getblock does. A scanner cuts the text into Python's tokens. A finder looks only
 * at line ends, indentation, comments and the words that open a block. Both stop at the first token behind the block.
 *
 * Since Python 3.12 an f-string may hold any expression, even one with the f-string's own quotes. So the scanner keeps
 * a stack of modes, one for each f-string and each expression around the current byte:
 *
 *   f"text {expression:spec {expression}} text"
 *
 *   TEXT         inside the quotes; ends at the closing quote; a brace opens an EXPRESSION
 *   EXPRESSION   ordinary tokens; ends at the closing brace; a colon turns the mode into a SPEC
 *   SPEC         the text behind the colon; ends at the brace that closes the expression */
#include "source.h"
#include <stdbool.h>
#include <string.h>

/* The limits of CPython's tokenizer: deeper text does not compile. */
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

/* Finds the last row of the block. Rows count from 1 at the block's first line, columns from 0. */
struct finder {
    bool started;      /* was def, class or lambda seen? */
    bool is_lambda;
    bool in_decorator; /* from the @ to the end of its logical line */
    bool skip_line;    /* the rest of this logical line does not matter */
    bool done;
    long body_column;  /* indentation of the body; -1 before the body */
    int indent;        /* indented blocks that are open since the start */
    int32_t last;      /* the last row of the block, as far as the text was read */
};

enum mode_kind { CLP_MODE_TEXT, CLP_MODE_EXPRESSION, CLP_MODE_SPEC };

struct mode {
    enum mode_kind kind;
    char quote;
    bool triple;
    int level; /* EXPRESSION, SPEC: the bracket level inside the expression's brace */
};

struct scanner {
    const char *at, *end;
    const char *line_start;
    int32_t row;
    int32_t used_row; /* row where the last token ended */
    bool line_start_due; /* is the next byte the first of a line, outside brackets? */
    bool line_used;   /* has the logical line a token? */
    int level;        /* number of open brackets, with the braces of f-strings */
    long indents[CLP_MAX_INDENTS];
    size_t indent_count;
    struct mode modes[CLP_MAX_MODES];
    size_t mode_count;
    struct finder finder;
    bool with;               /* does `with` open a block too? */
    bool name_due;           /* is the next word the name of the block's def or class? */
    struct clp_span defined; /* the name of the block's def or class; empty: not seen */
};

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static const char *behind_line_end(const char *at, const char *end)
{
    return at + (*at == '\r' && end - at > 1 && at[1] == '\n' ? 2 : 1);
}

/* Bytes that are searched for a line end at a time: in a text without \r (or without \n) a search of the whole rest
 * would run to the end of the text for every line. */
#define PIECE 256

static const char *line_end_from(const char *at, const char *end)
{
    while (at < end) {
        size_t piece = end - at < PIECE ? (size_t)(end - at) : PIECE;
        const char *feed = memchr(at, '\n', piece);
        const char *behind = feed != NULL ? feed : at + piece;
        const char *carriage = memchr(at, '\r', (size_t)(behind - at));
        if (carriage != NULL || feed != NULL)
            return carriage != NULL ? carriage : feed;
        at = behind;
    }
    return end;
}

int clp_source_next_line(struct clp_span *rest, struct clp_span *line)
{
    if (rest->bytes == 0)
        return 0;
    const char *end = rest->text + rest->bytes;
    const char *at = line_end_from(rest->text, end);
    *line = (struct clp_span){rest->text, (size_t)(at - rest->text)};
    if (at < end)
        at = behind_line_end(at, end);
    *rest = (struct clp_span){at, (size_t)(end - at)};
    return 1;
}

/* Drops the byte order mark that some editors put before the text, as Python does. */
static struct clp_span without_byte_order_mark(struct clp_span text)
{
    if (text.bytes >= 3 && memcmp(text.text, "\xef\xbb\xbf", 3) == 0)
        return (struct clp_span){text.text + 3, text.bytes - 3};
    return text;
}

/* Returns the text behind its first `count` lines. */
static struct clp_span behind_lines(struct clp_span text, int32_t count)
{
    struct clp_span line;

    while (count > 0 && clp_source_next_line(&text, &line))
        count--;
    return text;
}

void clp_source_walk_to(struct clp_source_walk *walk, int32_t line)
{
    struct clp_span passed;

    if (walk->line == 0 || walk->line > line) {
        walk->rest = walk->text;
        walk->line = 1;
    }
    while (walk->line < line && clp_source_next_line(&walk->rest, &passed))
        walk->line++;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

struct clp_span clp_source_unindented(struct clp_span text)
{
    for (; text.bytes != 0 && is_blank(*text.text); text.bytes--)
        text.text++;
    return text;
}

struct clp_span clp_source_stripped(struct clp_span text)
{
    text = clp_source_unindented(text);
    while (text.bytes != 0 && is_blank(text.text[text.bytes - 1]))
        text.bytes--;
    return text;
}

bool clp_source_begins_with(struct clp_span line, const char *word)
{
    struct clp_span text = clp_source_unindented(line);
    size_t bytes = strlen(word);

    return text.bytes >= bytes && memcmp(text.text, word, bytes) == 0;
}

bool clp_source_is_def(struct clp_span line)
{
    return clp_source_begins_with(line, "def ") || clp_source_begins_with(line, "async def ") ||
           clp_source_begins_with(line, "class ");
}

struct clp_span clp_source_line_at(struct clp_source_walk *walk, int32_t first, int32_t line)
{
    struct clp_span text = {"", 0};
    int64_t at = (int64_t)line - first + 1;

    if (at < 1 || at > INT32_MAX)
        return text;
    clp_source_walk_to(walk, (int32_t)at);
    struct clp_span rest = walk->rest;
    (void)clp_source_next_line(&rest, &text);
    return clp_source_unindented(text);
}

struct clp_span clp_source_lines(struct clp_span text, int32_t first, int32_t last)
{
    int32_t before = first > 1 ? first - 1 : 0;
    struct clp_span start = behind_lines(without_byte_order_mark(text), before);
    struct clp_span rest = behind_lines(start, last > before ? last - before : 0);

    return (struct clp_span){start.text, (size_t)(rest.text - start.text)};
}

/* Handles a token before the block has started. A statement that opens no block is its own block, unlike in inspect,
 * which would go on to the next def. */
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
    scanner->at = behind_line_end(scanner->at, scanner->end);
    scanner->line_start = scanner->at;
    scanner->row++;
}

/* Skips a backslash and what follows: one byte, or a line end. */
static void take_escaped(struct scanner *scanner)
{
    scanner->at++;
    if (scanner->at == scanner->end)
        return;
    if (is_line_end(*scanner->at))
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

/* Skips the opening quotes. Returns true when there are three. */
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
        } else if (!is_line_end(*scanner->at)) {
            scanner->at++;
        } else if (triple) {
            take_line_end(scanner);
        } else {
            return; /* the string is not closed: Python would refuse it */
        }
    }
}

/* Skips a backslash in an f-string, where it does not hide a brace. The braces of \N{NAME} are taken for the braces of
 * an expression. This does no harm: such a name has only letters, digits, blanks and dashes. */
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

/* Reads one item in the TEXT or SPEC of an f-string. */
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
    } else if (!is_line_end(c)) {
        scanner->at++;
    } else if (is_text && !mode->triple) {
        scanner->mode_count--; /* the f-string is not closed */
    } else {
        take_line_end(scanner);
    }
}

static bool is_word_byte(char c)
{
    unsigned char byte = (unsigned char)c;

    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte >= 0x80;
}

static bool has_letter(const char *word, size_t bytes, char letter)
{
    for (size_t i = 0; i < bytes; i++)
        if ((word[i] | 0x20) == letter)
            return true;
    return false;
}

/* Is the word before a quote the prefix of an f-string (f, fr, rf) or of a t-string (3.14), which has the same form? */
static bool is_format_prefix(const char *word, size_t bytes)
{
    if (bytes == 0 || bytes > 2)
        return false;
    if (bytes == 2 && !has_letter(word, bytes, 'r'))
        return false;
    return has_letter(word, bytes, 'f') || has_letter(word, bytes, 't');
}

static enum token token_of_word(const struct scanner *scanner, const char *word, size_t bytes)
{
    if (scanner->with && bytes == 4 && memcmp(word, "with", 4) == 0)
        return CLP_TOKEN_BLOCK;
    if (bytes == 3 && memcmp(word, "def", 3) == 0)
        return CLP_TOKEN_BLOCK;
    if (bytes == 5 && memcmp(word, "class", 5) == 0)
        return CLP_TOKEN_BLOCK;
    if (bytes == 6 && memcmp(word, "lambda", 6) == 0)
        return CLP_TOKEN_LAMBDA;
    return CLP_TOKEN_OTHER;
}

static const char *behind_blanks(const char *at, const char *end)
{
    return clp_source_unindented((struct clp_span){at, (size_t)(end - at)}).text;
}

/* Does the word (def or class) stand at the beginning of a statement? Elsewhere the text only looks like Python. */
static bool begins_statement(const struct scanner *scanner, const char *word)
{
    const char *at = behind_blanks(scanner->line_start, word);

    if (word - at > 5 && memcmp(at, "async", 5) == 0)
        at = behind_blanks(at + 5, word);
    return at == word;
}

static void note_name(struct scanner *scanner, const char *word, size_t bytes, enum token token)
{
    const struct finder *finder = &scanner->finder;

    if (scanner->name_due)
        scanner->defined = (struct clp_span){word, bytes};
    scanner->name_due = token == CLP_TOKEN_BLOCK && !finder->started && !finder->in_decorator &&
                        begins_statement(scanner, word);
}

/* Reads a name, a keyword, a number, or a string with or without a prefix. */
static void scan_word(struct scanner *scanner)
{
    const char *word = scanner->at;

    while (scanner->at < scanner->end && is_word_byte(*scanner->at))
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
            return; /* ) and ] cannot close the brace of an f-string's expression */
        scanner->mode_count--;
    }
    if (scanner->level > 0) /* a block that starts inside brackets closes brackets that were never opened */
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
    while (scanner->at < scanner->end && !is_line_end(*scanner->at))
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
    else if (is_line_end(c))
        scan_line_end(scanner);
    else if (c == '#')
        scan_comment(scanner);
    else if (c == '\\')
        take_escaped(scanner);
    else if (c == '\'' || c == '"' || is_word_byte(c))
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

/* Reads the white space before a logical line. Blank lines and lines with only a comment do not change the
 * indentation. A tab counts as one column: Python refuses a text whose meaning depends on the width of a tab. */
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
    if (scanner->at == scanner->end || is_line_end(*scanner->at) || *scanner->at == '#')
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
    struct clp_span block = behind_lines(without_byte_order_mark(text), first - 1);

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
    struct clp_span block = without_byte_order_mark(text);
    struct scanner scanner = scanner_of(block);
    const char *first = behind_blanks(scanner.at, scanner.end);

    scan_block(&scanner);
    *last = scanner.finder.last;
    if (first == scanner.end || is_line_end(*first) || *first == '#')
        return false; /* the block begins further down */
    if (strcmp(own, "<lambda>") == 0)
        return scanner.finder.started && scanner.finder.is_lambda;
    return scanner.defined.bytes != 0 && scanner.defined.bytes == strlen(own) &&
           memcmp(scanner.defined.text, own, scanner.defined.bytes) == 0;
}
