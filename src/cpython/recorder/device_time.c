/* SPDX-License-Identifier: MIT */
#include "device_time.h"
#include "cpython/memory/thread_here.h"
#include "cupti/launches.h"
#include "cupti/session.h"
#include "os/identity.h"
#include "os/library.h"
#include "own_work.h"
#include <unistd.h>

#define JOIN "'clineprof torch join' puts what torch.profiler recorded on lines"

/* Is global because CUPTI is. */
static struct {
    struct clp_recorder *recorder; /* borrowed; of those that want it */
    size_t wanted;
    size_t counting; /* atomic */
    uint64_t process; /* the one that listens or has listened; 0: none ever did */
    bool refused;     /* listening has failed, or was given up; it is not tried again */
    bool ended;       /* the program has */
    bool lacks_library; /* CUDA is there, but CUPTI is not */
    const char *other; /* a constant: the profiler for which it was given up */
    struct clp_session_fault fault;
    bool due; /* atomic: the interpreter was asked to call look_when_due */
} device_time;

bool clp_device_time_began(void)
{
    return device_time.process != 0 && device_time.process == clp_identity_self();
}

/* ---- where a thread is ---- */

static int where(struct clp_device_place *place)
{
    if (__atomic_load_n(&device_time.counting, __ATOMIC_RELAXED) == 0)
        return CLP_LAUNCH_LEFT_OUT;
    return clp_devices_place_of(clp_devices_thread(clp_thread_here), place) ? CLP_LAUNCH_ON_LINE : CLP_LAUNCH_OUTSIDE;
}

/* ---- the counters ---- */

static void add(void *data, const struct clp_device_place *place, const struct clp_device_sum *sum)
{
    struct clp_device_cell *cell = clp_devices_cell(data, place);

    if (cell == NULL) {
        device_time.recorder->engine.lost = true;
        return;
    }
    cell->time += sum->time;
    cell->wait += sum->wait;
    cell->launches += sum->launches;
}

void clp_device_time_look(void)
{
    if (device_time.wanted == 0 || !clp_device_time_began())
        return;
    clp_session_flush();
    clp_device_sums_take(add, &device_time.recorder->engine);
}

static int look_when_due(void *nothing)
{
    (void)nothing;
    __atomic_store_n(&device_time.due, false, __ATOMIC_RELAXED);
    if (device_time.wanted == 0)
        return 0;
    struct clp_own_work work = clp_own_work_begin(device_time.recorder);
    clp_device_time_look();
    clp_own_work_end(device_time.recorder, work);
    return 0;
}

/* Is called in any thread. What is in the live file must not be old, because it is all that is left if the process is
 * killed. */
static void ask_for_look(void)
{
    if (device_time.recorder->live.header != NULL &&
        !__atomic_exchange_n(&device_time.due, true, __ATOMIC_RELAXED) && Py_AddPendingCall(look_when_due, NULL) != 0)
        __atomic_store_n(&device_time.due, false, __ATOMIC_RELAXED);
}

/* ---- finding CUPTI ---- */

/* A CUPTI in the folders in which NVIDIA's packages put it, below a folder of sys.path. */
static void *load_from_packages(void)
{
    static const char *const places[] = {"nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.12",
                                         "nvidia/cuda_cupti/lib/libcupti.so.11"};
    PyObject *folders = PySys_GetObject("path"); /* borrowed */
    void *found = NULL;

    for (Py_ssize_t i = 0; folders != NULL && PyList_Check(folders) && i < PyList_GET_SIZE(folders); i++) {
        PyObject *folder = PyList_GET_ITEM(folders, i);
        const char *text = PyUnicode_Check(folder) ? PyUnicode_AsUTF8(folder) : NULL;
        char path[4096];
        for (size_t j = 0; text != NULL && found == NULL && j < sizeof places / sizeof *places; j++)
            if (snprintf(path, sizeof path, "%s/%s", text, places[j]) < (int)sizeof path && access(path, R_OK) == 0)
                found = clp_library_load(path);
        PyErr_Clear();
    }
    return found;
}

static void *load_from_toolkit(void)
{
    const char *home = getenv("CUDA_HOME");
    char path[4096];

    if (snprintf(path, sizeof path, "%s/extras/CUPTI/lib64/libcupti.so", home != NULL ? home : "/usr/local/cuda") >=
        (int)sizeof path)
        return NULL;
    return clp_library_load(path);
}

/* The CUPTI of the program. Only where it has none, one is loaded: the program may load the same later. */
static void *find_library(void)
{
    void *found = clp_library_loaded_like("libcupti");

    if (found == NULL)
        found = load_from_packages();
    return found != NULL ? found : load_from_toolkit();
}

/* ---- begin and end ---- */

bool clp_device_time_waits(void)
{
    /* in the child of a process that has listened CUDA does not work */
    return device_time.wanted != 0 && !device_time.refused && !device_time.ended && !clp_session_runs() &&
           (device_time.process == 0 || clp_device_time_began());
}

void clp_device_time_try(void)
{
    /* CUPTI initialises CUDA, which must not happen before the program does it: it then reads the environment. */
    if (!clp_device_time_waits() || clp_library_loaded("libcuda.so.1") == NULL)
        return;
    const struct clp_session_wish wish = {where, ask_for_look};
    struct clp_own_work work = clp_own_work_begin(device_time.recorder);
    void *library = find_library();
    device_time.lacks_library = library == NULL;
    if (library != NULL && clp_session_start(library, &wish, &device_time.fault))
        device_time.process = clp_identity_self();
    else
        device_time.refused = library != NULL;
    if (clp_device_time_began() && device_time.recorder->live.header != NULL)
        device_time.recorder->live.header->device_time = true;
    clp_own_work_end(device_time.recorder, work);
}

void clp_device_time_start(struct clp_recorder *recorder)
{
    device_time.recorder = recorder;
    device_time.wanted++;
    clp_device_time_try();
}

void clp_device_time_stop(void)
{
    if (device_time.wanted == 1) {
        clp_session_stop();
        clp_device_time_look();
    }
    device_time.wanted--;
}

void clp_device_time_end(void)
{
    if (device_time.wanted != 1)
        return;
    device_time.ended = true;
    clp_session_stop();
    clp_device_time_look();
}

void clp_device_time_counts(int by)
{
    (void)__atomic_fetch_add(&device_time.counting, (size_t)by, __ATOMIC_RELAXED);
}

void clp_device_time_give_up(const char *other)
{
    if (device_time.wanted == 0 || device_time.refused)
        return;
    device_time.refused = true;
    device_time.other = other;
    struct clp_own_work work = clp_own_work_begin(device_time.recorder);
    clp_session_stop();
    clp_device_time_look();
    clp_own_work_end(device_time.recorder, work);
}

/* ---- what is told ---- */

struct clp_device_outside clp_device_time_outside(void)
{
    return clp_device_time_began() ? clp_device_sums_outside() : (struct clp_device_outside){0};
}

bool clp_device_time_failed(void)
{
    return device_time.wanted != 0 && (device_time.refused || device_time.lacks_library);
}

bool clp_device_time_explain(struct clp_buf *text)
{
    const struct clp_session_fault *fault = &device_time.fault;

    if (clp_device_time_began() && device_time.other == NULL)
        return false;
    if (device_time.other != NULL)
        clp_buf_add_format(text, "the time of devices %s the program began to use %s, which needs CUPTI for itself; " JOIN,
                           clp_device_time_began() ? "ends where" : "is missing, because", device_time.other);
    else if (device_time.lacks_library)
        clp_buf_add_text(text, "the time of devices is missing, because no libcupti was found; install "
                               "nvidia-cuda-cupti, or set CUDA_HOME");
    else if (!device_time.refused)
        clp_buf_add_text(text, "the time of devices is missing, because the program did not load CUDA (libcuda.so.1)");
    else if (fault->function != NULL && fault->number == CLP_CUPTI_TAKEN)
        clp_buf_add_text(text, "the time of devices is missing, because another profiler has CUPTI, such as torch.profiler "
                               "or Nsight; " JOIN);
    else if (fault->function != NULL)
        clp_buf_add_format(text, "the time of devices is missing, because %s of CUPTI failed with error %d", fault->function,
                           fault->number);
    else
        clp_buf_add_format(text, "the time of devices is missing, because version %d of CUPTI is not known; known are "
                                 "13 to 28 and 130000 to 130099", fault->number);
    return true;
}
