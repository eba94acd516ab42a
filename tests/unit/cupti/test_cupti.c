/* SPDX-License-Identifier: MIT */
#include "cupti/cupti.h"
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes a record as CUPTI does; the places are those of NVIDIA's headers. */
static void write_record(uint8_t record[128], uint32_t kind, size_t correlation_place, uint64_t start, uint64_t end)
{
    const uint32_t correlation = 77;

    memset(record, 0xee, 128);
    memcpy(record, &kind, 4);
    memcpy(record + 16, &start, 8);
    memcpy(record + 24, &end, 8);
    memcpy(record + correlation_place, &correlation, 4);
}

Test(cupti, records)
{
    static const struct {
        uint32_t kind;
        size_t place;
    } kinds[] = {{3, 92}, {10, 92}, {1, 44}, {2, 44}, {22, 60}};
    struct clp_cupti_record record;
    uint8_t bytes[128];

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        write_record(bytes, kinds[i].kind, kinds[i].place, 1000, 1234);
        cr_assert(clp_cupti_read(bytes, &record), "kind %u", kinds[i].kind);
        cr_expect_eq(record.correlation, 77);
        cr_expect_eq(record.nanos, 234);
        cr_expect(record.ended);
    }
    write_record(bytes, 10, 92, 1000, 0);
    cr_expect(clp_cupti_read(bytes, &record) && !record.ended && record.nanos == 0, "it has not ended");
    write_record(bytes, 10, 92, 0, 0);
    cr_expect(clp_cupti_read(bytes, &record) && !record.ended, "it has not begun");
    write_record(bytes, 10, 92, 1000, 1000);
    cr_expect(clp_cupti_read(bytes, &record) && record.ended && record.nanos == 0, "it took no time");
    write_record(bytes, 5, 44, 1000, 1234);
    cr_expect_not(clp_cupti_read(bytes, &record), "a call of the runtime");
}

/* What a real device has told; fixtures/devices/cupti_records.txt says how it is written. */
Test(cupti, records_of_a_device)
{
    FILE *file = fopen("fixtures/devices/cupti_records.txt", "r");
    char line[512], hex[225];
    struct clp_cupti_record record;
    uint8_t bytes[112];
    int found = 0;

    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        uint32_t kind, correlation, from, to;
        uint64_t start, end;
        if (sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %224s", &kind,
                   &correlation, &start, &end, &from, &to, hex) != 7)
            continue;
        memset(bytes, 0xee, sizeof bytes);
        for (size_t i = 0; i < strlen(hex) / 2; i++)
            cr_assert_eq(sscanf(hex + 2 * i, "%2hhx", &bytes[i]), 1);
        cr_assert(clp_cupti_read(bytes, &record), "kind %u", kind);
        cr_expect_eq(record.correlation, correlation);
        cr_expect(record.ended && record.nanos == end - start, "%u", correlation);
        cr_expect_eq(record.waits, from == 1 || to == 1, "%u", correlation);
        found++;
    }
    (void)fclose(file);
    cr_expect_eq(found, 8);
}

Test(cupti, versions)
{
    static const uint32_t known[] = {13, 18, 26, 28, 130000, 130001, 130500}, unknown[] = {0, 12, 29, 130600, 140000};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        cr_expect(clp_cupti_is_known(known[i]), "%u", known[i]);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        cr_expect_not(clp_cupti_is_known(unknown[i]), "%u", unknown[i]);
}

Test(cupti, what_functions_do)
{
    static const struct {
        const char *function;
        uint8_t deeds;
    } cases[] = {
        {"cudaLaunchKernel_v7000", CLP_CUPTI_LAUNCHES},
        {"__cudaLaunchKernel_ptsz_v13000", CLP_CUPTI_LAUNCHES},
        {"cuLaunchKernelEx", CLP_CUPTI_LAUNCHES},
        {"cuLaunchCooperativeKernel_ptsz", CLP_CUPTI_LAUNCHES},
        {"cudaMemsetAsync_v3020", CLP_CUPTI_LAUNCHES},
        {"cuMemsetD8Async", CLP_CUPTI_LAUNCHES},
        {"cudaMemcpy_v3020", CLP_CUPTI_LAUNCHES | CLP_CUPTI_WAITS},
        {"cuMemcpyDtoHAsync_v2", CLP_CUPTI_LAUNCHES | CLP_CUPTI_MAY_WAIT},
        {"cudaMemcpyAsync_ptsz_v7000", CLP_CUPTI_LAUNCHES | CLP_CUPTI_MAY_WAIT},
        {"cudaGraphLaunch_v10000", CLP_CUPTI_LAUNCHES},
        {"cuGraphUpload_ptsz", CLP_CUPTI_LAUNCHES},
        {"cudaGraphAddMemcpyNode_v10000", 0},
        {"cuGraphExecMemsetNodeSetParams", 0},
        {"cudaDeviceSynchronize_v3020", CLP_CUPTI_WAITS},
        {"cuCtxSynchronize_v2", CLP_CUPTI_WAITS},
        {"cudaEventSynchronize_v3020", CLP_CUPTI_WAITS},
        {"cudaGetDevice_v3020", 0},
        {"cudaEventQuery_v3020", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(clp_cupti_deeds(cases[i].function), cases[i].deeds, "%s", cases[i].function);
}
