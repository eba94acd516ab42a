/* SPDX-License-Identifier: MIT */
#include "sampler.h"
#include "os/clock.h"
#include <errno.h>

static uint64_t left_out(const struct clp_sampler *sampler)
{
    uint64_t bytes = __atomic_load_n(&sampler->pages.bytes, __ATOMIC_RELAXED);

    for (size_t i = 0; i < sizeof sampler->left_out / sizeof *sampler->left_out; i++)
        if (sampler->left_out[i] != NULL)
            bytes += __atomic_load_n(&sampler->left_out[i]->bytes, __ATOMIC_RELAXED);
    return bytes;
}

static void take_off_own(const struct clp_sampler *sampler, struct clp_sample *sample)
{
    uint64_t own = left_out(sampler);

    if (sampler->pid == 0)
        sample->bytes -= own < sample->bytes ? own : sample->bytes;
}

void clp_sampler_look(struct clp_sampler *sampler)
{
    struct clp_sample *look = sampler->look;
    uint64_t now = clp_clock_monotonic() - sampler->start_nanos;
    size_t count = 1;

    look[0].pid = sampler->pid;
    int error = clp_processes_size(sampler->pid, sampler->memory, &look[0].bytes);
    __atomic_store_n(&sampler->error, error, __ATOMIC_RELAXED);
    if (error != 0)
        return;
    take_off_own(sampler, &look[0]);
    size_t others = sampler->children ? clp_processes_below(sampler->pid, sampler->list,
                                                            CLP_SAMPLER_PROCESSES)
                                      : 0;
    for (size_t i = 0; i < others && count < CLP_SAMPLER_PROCESSES; i++) {
        look[count].pid = sampler->list[i].pid;
        count += clp_processes_size(look[count].pid, sampler->memory, &look[count].bytes) == 0;
    }
    clp_samples_add(&sampler->samples, now, look, count);
}

static void work(void *data)
{
    struct clp_sampler *sampler = data;

    clp_sampler_look(sampler);
    if (sampler->after != NULL)
        sampler->after(sampler->data);
}

static bool take_memory(struct clp_sampler *sampler)
{
    size_t samples = sampler->room == NULL ? CLP_SAMPLER_ROOM : 0;
    size_t all = (samples + CLP_SAMPLER_PROCESSES) * sizeof(struct clp_sample);
    size_t list = CLP_SAMPLER_PROCESSES * sizeof(struct clp_process);

    sampler->block = clp_pages_map(&sampler->pages, all + list, &sampler->block_bytes);
    if (sampler->block == NULL)
        return false;
    clp_samples_init(&sampler->samples, samples != 0 ? sampler->block : sampler->room,
                     CLP_SAMPLER_ROOM);
    sampler->look = (struct clp_sample *)sampler->block + samples;
    sampler->list = (struct clp_process *)(void *)(sampler->look + CLP_SAMPLER_PROCESSES);
    return true;
}

int clp_sampler_open(struct clp_sampler *sampler)
{
    if (!take_memory(sampler))
        return ENOMEM;
    if (sampler->memory == CLP_MEMORY_OFF)
        sampler->memory = CLP_MEMORY_RSS;
    if (sampler->interval < CLP_SAMPLER_LEAST)
        sampler->interval = CLP_SAMPLER_LEAST;
    sampler->helper = (struct clp_helper){.work = work,
                                          .data = sampler,
                                          .interval = sampler->interval,
                                          .pages = &sampler->pages,
                                          .own_files = true};
    sampler->start = clp_clock_wall();
    sampler->start_nanos = clp_clock_monotonic();
    clp_sampler_look(sampler);
    if (sampler->error != 0)
        clp_sampler_close(sampler);
    return sampler->error;
}

int clp_sampler_start(struct clp_sampler *sampler)
{
    return clp_helper_start(&sampler->helper);
}

void clp_sampler_close(struct clp_sampler *sampler)
{
    clp_helper_clear(&sampler->helper);
    if (sampler->block != NULL)
        clp_pages_unmap(&sampler->pages, sampler->block, sampler->block_bytes);
    sampler->block = NULL;
}
