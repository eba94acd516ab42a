# made by tools/completions.py
function __ckernprof_takes_options
  set -l next none
  for word in (commandline -opc)[2..-1]
    if test $next = number; and string match -qr '^[0-9.]+$' -- $word; or test $next = any
      set next none
    else if test x$word = x--; or string match -qr '^(-[lbvqrzCVh]*[mc])' -- $word
      return 1
    else if string match -qr '^(-[lbvqrzCVh]*[spoumc]|--setup|--prof-mod|--include|--exclude|--outfile|--unit|--color|--colour|--columns|--widths|--sort-by|--top|--lines|--function|--file|--min-percent|--precision|--tracer|--clock|--memory|--source|--pdb-mmem|--counters|--heap-interval|--config|--python)$' -- $word
      set next any
    else if string match -qr '^(-[lbvqrzCVh]*[i]|--output-interval|--timeline)$' -- $word
      set next number
    else if string match -qr '^-.' -- $word
      set next none
    else
      return 1
    end
  end
  return 0
end
complete -c ckernprof -n '__ckernprof_takes_options' -s l -l line-by-line -l line -d 'profile line by line; implies -b'
complete -c ckernprof -n '__ckernprof_takes_options' -s b -l builtin -d 'put \'profile\' in the builtins, to mark code'
complete -c ckernprof -n '__ckernprof_takes_options' -s s -l setup -r -d 'run FILE first, unprofiled'
complete -c ckernprof -n '__ckernprof_takes_options' -s p -l prof-mod -r -d 'profile this file, module, class, function: a.py:f'
complete -c ckernprof -n '__ckernprof_takes_options' -l no-preimports -d 'do not import the targets before the program runs'
complete -c ckernprof -n '__ckernprof_takes_options' -l prof-imports -d 'if -p names the script, profile its imports, too'
complete -c ckernprof -n '__ckernprof_takes_options' -l include -r -d 'limit -p to functions whose name or file matches'
complete -c ckernprof -n '__ckernprof_takes_options' -l exclude -r -d 'omit functions whose name or file matches from -p'
complete -c ckernprof -n '__ckernprof_takes_options' -s o -l outfile -r -d 'write to FILE; -: stdout (default: <script>.lprof)'
complete -c ckernprof -n '__ckernprof_takes_options' -s v -l view -l verbose -d 'print the report at the end; -vv: more messages'
complete -c ckernprof -n '__ckernprof_takes_options' -s q -l quiet -d 'no messages; -qq: no stdout; -qqq: no stderr'
complete -c ckernprof -n '__ckernprof_takes_options' -s u -l unit -r -d 's, ms, us, ns, 1e-3, .. (default: auto or 1e-6)'
complete -c ckernprof -n '__ckernprof_takes_options' -l color -l colour -x -a 'auto always never' -d 'colours: auto, always, never (default: auto)'
complete -c ckernprof -n '__ckernprof_takes_options' -s r -l rich -d 'as --color auto; say so if rich is missing'
complete -c ckernprof -n '__ckernprof_takes_options' -s z -l skip-zero -d 'hide functions that never ran'
complete -c ckernprof -n '__ckernprof_takes_options' -l summarize -d 'print a line per function at the end'
complete -c ckernprof -n '__ckernprof_takes_options' -l columns -r -d 'columns of the report: hits,time,self,..'
complete -c ckernprof -n '__ckernprof_takes_options' -l widths -r -d 'minimum widths of columns: line=8,time=14,..'
complete -c ckernprof -n '__ckernprof_takes_options' -l self -d 'also show time without selected callees'
complete -c ckernprof -n '__ckernprof_takes_options' -l sort-by -x -a 'hits time raw-time self raw-self await max error gc gc-runs cpu wait queue gc-wait gc-queue native-time library read written disk-read disk-written faults major-faults switches preemptions counter1 counter1-most counter2 counter2-most counter3 counter3-most counter4 counter4-most device1-allocated device1-freed device1-net device1-peak device1-reserved device2-allocated device2-freed device2-net device2-peak device2-reserved device3-allocated device3-freed device3-net device3-peak device3-reserved device4-allocated device4-freed device4-net device4-peak device4-reserved device-time device-wait launches mem grown released increment self-increment largest allocated blocks live live-blocks heap-peak freed-in-line native native-blocks order name' -d 'sort by time, self, mem, hits, .. (default: order)'
complete -c ckernprof -n '__ckernprof_takes_options' -l top -r -d 'show only the top N functions (default: all)'
complete -c ckernprof -n '__ckernprof_takes_options' -l lines -r -d 'one table of the N hottest lines of all functions'
complete -c ckernprof -n '__ckernprof_takes_options' -l by-file -d 'show whole files, each once (default: auto)'
complete -c ckernprof -n '__ckernprof_takes_options' -l gc -d 'show garbage collection apart (default: auto)'
complete -c ckernprof -n '__ckernprof_takes_options' -l function -r -d 'show only functions whose name matches'
complete -c ckernprof -n '__ckernprof_takes_options' -l file -r -d 'show only files whose path or its end matches'
complete -c ckernprof -n '__ckernprof_takes_options' -l min-percent -r -d 'hide rows below P % of their function (default: 0)'
complete -c ckernprof -n '__ckernprof_takes_options' -l mp -d 'print the report as memory_profiler does'
complete -c ckernprof -n '__ckernprof_takes_options' -l precision -r -d 'digits after the point, with --mp (default: 3)'
complete -c ckernprof -n '__ckernprof_takes_options' -l by-statement -d 'count a statement over several lines as one line'
complete -c ckernprof -n '__ckernprof_takes_options' -l prof-child-procs -d 'also profile processes that the program starts'
complete -c ckernprof -n '__ckernprof_takes_options' -l threads -d 'print a table for each thread, by name'
complete -c ckernprof -n '__ckernprof_takes_options' -s i -l output-interval -d 'save the profile every N s; no N: 1 (default: 0)'
complete -c ckernprof -n '__ckernprof_takes_options' -l tracer -x -a 'auto probe monitoring settrace light' -d 'probe, monitoring, settrace, light (default: auto)'
complete -c ckernprof -n '__ckernprof_takes_options' -l light -d 'exact hits and sampled times, for long runs'
complete -c ckernprof -n '__ckernprof_takes_options' -l clock -x -a 'exact light' -d 'exact; light: the same as --light (default: exact)'
complete -c ckernprof -n '__ckernprof_takes_options' -l memory -x -a 'off rss anon uss pss tree' -d 'off, rss, anon; slow uss, pss, tree (default: rss)'
complete -c ckernprof -n '__ckernprof_takes_options' -l no-memory -d 'same as --memory off'
complete -c ckernprof -n '__ckernprof_takes_options' -l source -r -d 'text: functions, files, none (default: functions)'
complete -c ckernprof -n '__ckernprof_takes_options' -l timeline -d 'sample memory every N s; no N: 0.01 (default: 0)'
complete -c ckernprof -n '__ckernprof_takes_options' -s C -l include-children -d 'with --timeline: record child processes, too'
complete -c ckernprof -n '__ckernprof_takes_options' -l pdb-mmem -r -d 'stop in pdb when more than MIB are resident'
complete -c ckernprof -n '__ckernprof_takes_options' -l cpu -d 'split times into CPU and waiting'
complete -c ckernprof -n '__ckernprof_takes_options' -l native -d 'split times into C code, library and the rest'
complete -c ckernprof -n '__ckernprof_takes_options' -l nvtx -d 'name functions for NVIDIA Nsight Systems'
complete -c ckernprof -n '__ckernprof_takes_options' -l torch-names -d 'count blocks of PyTorch\'s record_function'
complete -c ckernprof -n '__ckernprof_takes_options' -l io -d 'count bytes read and written'
complete -c ckernprof -n '__ckernprof_takes_options' -l counters -r -d 'count faults, switches, or both: faults,switches'
complete -c ckernprof -n '__ckernprof_takes_options' -l tensors -d 'count the memory of PyTorch\'s tensors'
complete -c ckernprof -n '__ckernprof_takes_options' -l cuda -d 'count kernels, copies and waiting of GPUs'
complete -c ckernprof -n '__ckernprof_takes_options' -l line-log -d 'log lines while torch.profiler runs'
complete -c ckernprof -n '__ckernprof_takes_options' -l heap -x -a 'python native' -d 'count live memory; native: that of C code, too'
complete -c ckernprof -n '__ckernprof_takes_options' -l heap-interval -r -d 'mean bytes per sample; 1: all (default: 65536)'
complete -c ckernprof -n '__ckernprof_takes_options' -l leaks -d 'tell which lines leak (docs/memory.md)'
complete -c ckernprof -n '__ckernprof_takes_options' -l fail-on-leak -d 'exit 3 if a line leaks (more than SIZE)'
complete -c ckernprof -n '__ckernprof_takes_options' -l config -r -d 'read defaults from this TOML file'
complete -c ckernprof -n '__ckernprof_takes_options' -l no-config -d 'read no config file'
complete -c ckernprof -n '__ckernprof_takes_options' -l python -r -d 'the interpreter that runs the program'
complete -c ckernprof -n '__ckernprof_takes_options' -s m -r -d 'run a module, as python -m does; ends the options'
complete -c ckernprof -n '__ckernprof_takes_options' -s c -r -d 'run this text, as python -c does; ends the options'
complete -c ckernprof -n '__ckernprof_takes_options' -s V -l version -d 'print the version'
complete -c ckernprof -n '__ckernprof_takes_options' -s h -l help -d 'print this help'
