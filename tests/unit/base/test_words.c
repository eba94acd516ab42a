/* SPDX-License-Identifier: MIT */
#include "base/words.h"
#include "helpers.h"
#include <string.h>

static const char *nearest(const char *list, const char *word)
{
    static char found[64];
    const char *near = "";
    size_t bytes = clp_words_nearest(list, word, strlen(word), &near);

    memcpy(found, near, bytes);
    found[bytes] = 0;
    return found;
}

Test(words, of_both_kinds_of_list_are_found)
{
    cr_assert(clp_words_have("rss, anon or off", "anon", 4));
    cr_assert(clp_words_have("rss, anon or off", "off", 3));
    cr_assert(clp_words_have("hits,time", "time>5", 4));
    cr_assert_not(clp_words_have("rss, anon or off", "or", 2), "it only joins the last two");
    cr_assert_not(clp_words_have("rss, anon or off", "rs", 2));
    cr_assert_not(clp_words_have("hits,time", "", 0));
}

Test(words, the_most_similar_one_is_suggested)
{
    cr_assert_str_eq(nearest("hits, time or order", "tme"), "time");
    cr_assert_str_eq(nearest("hits,time", "hit"), "hits");
    cr_assert_str_eq(nearest("text, html or json", "htlm"), "html");
    cr_assert_str_eq(nearest("self,raw-self", "raw-slef"), "raw-self");
    cr_assert_str_eq(nearest("hits,time", "size"), "", "two of four letters are other ones");
    cr_assert_str_eq(nearest("hits,time", "x"), "");
    cr_assert_str_eq(nearest("one or two", "o"), "");
}

Test(words, a_very_long_word_is_like_none)
{
    char word[400];

    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = 0;
    cr_assert_str_eq(nearest("aaaa,time", word), "");
    cr_assert_str_eq(nearest(word, "time"), "");
}

Test(words, a_refusal_has_the_near_word_or_the_whole_list)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf fault;

    clp_buf_init(&fault, &mem);
    clp_words_refuse(&fault, "some of ", "hits,time", "tme,", 3);
    clp_buf_add_text(&fault, "; ");
    clp_words_refuse(&fault, "some of ", "hits,time", "x", 1);
    cr_assert_str_eq(clp_buf_text(&fault), "does not take 'tme' (did you mean time?); needs some of hits,time, not 'x'");
    clp_buf_clear(&fault);
}
