internal import CBrume

/// Names the calling thread for debuggers and `top`; the kernel keeps 15 bytes.
func setThreadName(_ name: UnsafePointer<CChar>) {
    brume_thread_set_name(name)
}
