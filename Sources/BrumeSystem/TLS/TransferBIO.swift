internal import COpenSSL

/// The BIO between OpenSSL and a loop's ``TransferBuffers``: it moves bytes in memory and knows no socket.
enum TransferBIO {
    /// OpenSSL's method table for it, made once and never freed.
    ///
    /// `nonisolated(unsafe)`: written once by Swift's lazy initialisation and only read afterwards.
    nonisolated(unsafe) private static let method: OpaquePointer = {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "brume") else {
            fatalError("OpenSSL has no memory for a BIO method")
        }
        BIO_meth_set_create(method) { bio in
            BIO_set_init(bio, 1)
            return 1
        }
        BIO_meth_set_read(method) { bio, target, count in TransferBIO.read(bio, target, count) }
        BIO_meth_set_write(method) { bio, source, count in TransferBIO.write(bio, source, count) }
        BIO_meth_set_ctrl(method) { _, command, _, _ in
            // Flushing is what the connection does after the run; nothing else is asked that matters here.
            command == BIO_CTRL_FLUSH ? 1 : 0
        }
        return method
    }()

    /// Makes a BIO on the buffers of a loop. OpenSSL frees it together with the session that it is given to.
    static func make(_ state: UnsafeMutablePointer<TransferState>) -> OpaquePointer? {
        guard let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, state)
        return bio
    }

    private static func read(_ bio: OpaquePointer?, _ target: UnsafeMutablePointer<CChar>?, _ count: Int32) -> Int32 {
        brume_bio_clear_retry_flags(bio)
        guard let state = BIO_get_data(bio)?.assumingMemoryBound(to: TransferState.self), let target, count > 0 else {
            return -1
        }
        let moved = min(Int(count), state.pointee.inputCount)
        guard moved > 0, let input = state.pointee.input else {
            brume_bio_set_retry_read(bio)
            return -1
        }
        UnsafeMutableRawPointer(target).copyMemory(from: input, byteCount: moved)
        state.pointee.input = input + moved
        state.pointee.inputCount -= moved
        return Int32(moved)
    }

    private static func write(_ bio: OpaquePointer?, _ source: UnsafePointer<CChar>?, _ count: Int32) -> Int32 {
        brume_bio_clear_retry_flags(bio)
        guard let state = BIO_get_data(bio)?.assumingMemoryBound(to: TransferState.self), let source, count > 0 else {
            return -1
        }
        // One run never fills the buffer: its quota is smaller. The check keeps a mistake from becoming an overflow.
        let moved = min(Int(count), state.pointee.outputCapacity - state.pointee.outputCount)
        guard moved > 0 else {
            brume_bio_set_retry_write(bio)
            return -1
        }
        (state.pointee.output + state.pointee.outputCount).copyMemory(from: source, byteCount: moved)
        state.pointee.outputCount += moved
        return Int32(moved)
    }
}
