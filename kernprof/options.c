#include "options.h"
#include <string.h>
bool clp_run_options_parse(int argc, char **argv, struct clp_run_options *o, struct clp_buf *e)
{ *o=(struct clp_run_options){0}; for(int i=1;i<argc;i++){ if(!strcmp(argv[i],"--python")) o->python=argv[++i]; else if(!strcmp(argv[i],"-h")) o->help=true; else if(!strcmp(argv[i],"-V")) o->version=true; else if (!strcmp(argv[i],"--bad")) {clp_buf_add_text(e,"bad"); return false;} else if(!strcmp(argv[i],"-l")) o->line_by_line=true; else if(!strcmp(argv[i],"-v")) o->view++; else if(!strcmp(argv[i],"-o")) o->outfile=argv[++i]; else if(!strcmp(argv[i],"--tracer")) o->tracer=argv[++i]; else if(!strcmp(argv[i],"--no-memory")) o->no_memory=true; else { o->target_kind=CLP_TARGET_SCRIPT; if(!strcmp(argv[i],"-m")) {i++; o->target_kind=CLP_TARGET_MODULE;} o->target=argv[i]; o->program_argv=argv+i; o->program_argc=argc-i; break;}} o->unit=1e-6; return true;}
void clp_run_options_help(const char *p, struct clp_buf *o){ clp_buf_add_format(o,"help %s\n",p);}
bool clp_view_options_parse(int argc, char **argv, struct clp_view_options *o, struct clp_buf *e)
{ (void)argc;(void)argv;(void)e; *o=(struct clp_view_options){0}; o->unit=1e-6; o->files=argv+1; o->file_count=argc-1; return true;}
void clp_view_options_help(const char *p, struct clp_buf *o){ clp_buf_add_format(o,"help %s\n",p);}
