/// The bytes of one run of encryption or decryption: what OpenSSL may read, and where it may write.
///
/// A plain struct behind a pointer, so that the callbacks of the BIO touch no reference counts.
struct TransferState {
    /// Ciphertext from the peer, valid for the run in progress.
    var input: UnsafeRawPointer?
    var inputCount = 0
    /// Ciphertext for the peer.
    var output: UnsafeMutableRawPointer
    var outputCount = 0
    let outputCapacity: Int
}

/// Working memory of one loop, shared by all of its connections, so that an idle connection holds none.
///
/// Valid for one run at a time: what is left of a run has to be moved to its connection before another connection's run
/// begins. Owned by the loop's thread.
final class TransferBuffers {
    /// The buffer that sockets are read into.
    let ciphertext: UnsafeMutableRawBufferPointer
    /// The buffer that records are decrypted into.
    let plaintext: UnsafeMutableRawBufferPointer
    let state: UnsafeMutablePointer<TransferState>

    init() {
        ciphertext = .allocate(byteCount: Limits.ciphertextReadBytes, alignment: 64)
        plaintext = .allocate(byteCount: Limits.plaintextReadBytes, alignment: 64)
        state = .allocate(capacity: 1)
        state.initialize(
            to: TransferState(
                output: .allocate(byteCount: Limits.ciphertextWriteBytes, alignment: 64),
                outputCapacity: Limits.ciphertextWriteBytes))
    }

    deinit {
        state.pointee.output.deallocate()
        state.deallocate()
        plaintext.deallocate()
        ciphertext.deallocate()
    }

    /// Ciphertext that OpenSSL wrote in this run.
    var output: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: state.pointee.output, count: state.pointee.outputCount)
    }

    func clearOutput() { state.pointee.outputCount = 0 }

    /// Ciphertext from the peer that this run has not consumed.
    var remainingInput: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: state.pointee.input, count: state.pointee.inputCount)
    }

    func setInput(_ bytes: UnsafeRawBufferPointer) {
        state.pointee.input = bytes.baseAddress
        state.pointee.inputCount = bytes.count
    }

    func clearInput() {
        state.pointee.input = nil
        state.pointee.inputCount = 0
    }
}
