// What the server and this process cost, and how long answers took.
#include "lg.h"

static int g_pids[20000], g_npids;
void find_pids(void) { // g_pid and all descendants
    g_npids = 0;
    if (!g_pid) return;
    g_pids[g_npids++] = g_pid;
    if (!g_pss) return;
    static struct { int pid, pp; } a[40000];
    int n = 0;
    DIR *d = opendir("/proc");
    struct dirent *e;
    while ((e = readdir(d)))
        if (isdigit(e->d_name[0]) && n < 40000) {
            char f[300], t[512];
            snprintf(f, sizeof f, "/proc/%s/stat", e->d_name);
            int fd = open(f, O_RDONLY);
            if (fd < 0) continue;
            int k = read(fd, t, 511);
            close(fd);
            if (k <= 0) continue;
            t[k] = 0;
            char *q = strrchr(t, ')');
            if (!q) continue;
            a[n].pid = atoi(e->d_name);
            a[n].pp = atoi(q + 4);
            n++;
        }
    closedir(d);
    for (int i = 0; i < g_npids; i++)
        for (int j = 0; j < n; j++)
            if (a[j].pp == g_pids[i] && g_npids < 20000) g_pids[g_npids++] = a[j].pid;
}
double srv_cpu(void) {
    double s = 0;
    for (int i = 0; i < g_npids; i++) {
        clockid_t k;
        struct timespec t;
        if (!clock_getcpuclockid(g_pids[i], &k) && !clock_gettime(k, &t)) s += t.tv_sec + t.tv_nsec * 1e-9;
    }
    return s;
}
double tree_cpu(void) { // the server and its reaped children, from /proc/PID/stat (10 ms steps)
    char f[64], t[1024];
    snprintf(f, 64, "/proc/%d/stat", g_pid);
    int fd = open(f, O_RDONLY);
    if (fd < 0) return 0;
    int k = read(fd, t, 1023);
    close(fd);
    t[k > 0 ? k : 0] = 0;
    char *q = strrchr(t, ')');
    unsigned long u = 0, s = 0;
    long cu = 0, cs = 0;
    if (q) sscanf(q + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &u, &s, &cu, &cs);
    return (u + s + cu + cs) / (double)sysconf(_SC_CLK_TCK);
}
double srv_rss(void) { // bytes
    double s = 0;
    for (int i = 0; i < g_npids; i++) {
        char f[64], l[256];
        snprintf(f, 64, g_pss ? "/proc/%d/smaps_rollup" : "/proc/%d/status", g_pids[i]);
        FILE *x = fopen(f, "r");
        if (!x) continue;
        while (fgets(l, 256, x))
            if (!strncmp(l, g_pss ? "Pss:" : "VmRSS:", g_pss ? 4 : 6)) {
                s += atof(strchr(l, ':') + 1) * 1024;
                break;
            }
        fclose(x);
    }
    return s;
}
double cli_cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
u32 *g_lat;
size_t g_nlat;
static size_t g_clat;
void lat_add(u64 ns) {
    if (g_nlat == g_clat) {
        g_clat = g_clat ? g_clat * 2 : 1 << 20;
        g_lat = realloc(g_lat, g_clat * 4);
    }
    g_lat[g_nlat++] = ns > 4000000000u ? 4000000000u : ns;
}
static int cmp32(const void *a, const void *b) {
    u32 x = *(u32 *)a, y = *(u32 *)b;
    return x < y ? -1 : x > y;
}
void lat_sort(void) { qsort(g_lat, g_nlat, 4, cmp32); }
double pct(double p) {
    if (!g_nlat) return 0;
    size_t i = p * g_nlat;
    if (i >= g_nlat) i = g_nlat - 1;
    return g_lat[i] / 1000.0;
}
#define MAXF 32
static struct {
    const char *n;
    double v[64];
    int k;
} g_f[MAXF];
static int g_nf;
void field(const char *n, double v) {
    int i;
    for (i = 0; i < g_nf; i++)
        if (!strcmp(g_f[i].n, n)) break;
    if (i == g_nf) {
        g_f[i].n = n;
        g_nf++;
    }
    if (g_f[i].k < 64) g_f[i].v[g_f[i].k++] = v;
}
static int cmpd(const void *a, const void *b) {
    double x = *(double *)a, y = *(double *)b;
    return x < y ? -1 : x > y;
}
void emit(void) { // one JSON line: the median of each field over the repetitions
    printf(
        "{\"measure\":\"%s\",\"peer\":\"%s\",\"tag\":\"%s\",\"conns\":%d,\"batch\":%d,\"reps\":%d", g_measure, g_peer,
        g_tag, g_conns, g_batch, g_reps
    );
    for (int i = 0; i < g_nf; i++) {
        qsort(g_f[i].v, g_f[i].k, sizeof(double), cmpd);
        double m = g_f[i].v[g_f[i].k / 2];
        printf(m >= 1000 ? ",\"%s\":%.0f" : m >= 10 ? ",\"%s\":%.2f" : ",\"%s\":%.4g", g_f[i].n, m);
    }
    if (g_f[0].k > 1)
        printf(",\"%s_min\":%.4g,\"%s_max\":%.4g", g_f[0].n, g_f[0].v[0], g_f[0].n, g_f[0].v[g_f[0].k - 1]);
    printf("}\n");
    fflush(stdout);
}

void fields_reset(void) {
    g_nf = 0;
    memset(g_f, 0, sizeof g_f);
}
