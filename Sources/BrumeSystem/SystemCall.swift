internal import Glibc

/// The one gate for system calls: retries `EINTR`, makes would-block a value, and names the call in the error.
enum SystemCall {
    /// What a call on a non-blocking descriptor came to.
    enum Outcome: Equatable {
        case done(Int)
        case wouldBlock
    }

    /// Runs `body` until it is not interrupted.
    /// - Parameter context: Evaluated only for the error.
    @discardableResult
    static func run<Result: FixedWidthInteger>(
        _ call: StaticString, _ context: @autoclosure () -> String = "", _ body: () -> Result
    ) throws(SystemError) -> Result {
        while true {
            let result = body()
            if result >= 0 { return result }
            let code = errno
            if code == EINTR { continue }
            throw SystemError(call: "\(call)", errno: code, context: context())
        }
    }

    /// Runs `body`, a call on a non-blocking descriptor, until it is not interrupted.
    static func runNonBlocking<Result: FixedWidthInteger>(
        _ call: StaticString, _ context: @autoclosure () -> String = "", _ body: () -> Result
    ) throws(SystemError) -> Outcome {
        while true {
            let result = body()
            if result >= 0 { return .done(Int(result)) }
            let code = errno
            if code == EINTR { continue }
            if code == EAGAIN || code == EWOULDBLOCK { return .wouldBlock }
            throw SystemError(call: "\(call)", errno: code, context: context())
        }
    }

    /// Repeats `transfer` until all of `count` bytes went through or it comes to the end of the file.
    ///
    /// The kernel may take or give less than it was asked for: at a signal, at a full disk, at more than 2 GiB.
    /// - Parameter transfer: Gets the offset of what is left and its length; returns what the call returned.
    /// - Returns: The number of bytes that went through: `count`, or less at the end of the file.
    static func transferAll(
        _ call: StaticString, _ context: @autoclosure () -> String, count: Int,
        _ transfer: (_ offset: Int, _ remaining: Int) -> Int
    ) throws(SystemError) -> Int {
        var offset = 0
        while offset < count {
            let moved = try run(call, context()) { transfer(offset, count - offset) }
            if moved == 0 { break }
            offset += moved
        }
        return offset
    }

    /// Closes a descriptor. The result is ignored: on Linux the descriptor is closed even after `EINTR`, and what must
    /// be on disk was synced before.
    static func close(_ fd: Int32) {
        _ = Glibc.close(fd)
    }
}
