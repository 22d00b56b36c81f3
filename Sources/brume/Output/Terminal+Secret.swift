internal import Glibc

extension Terminal {
    /// Asks for one line at the terminal, which does not show what is typed.
    ///
    /// Ctrl-C ends the line and then the process: a signal would leave the terminal without echo.
    static func readSecret(_ prompt: String) -> String {
        var usual = termios()
        guard tcgetattr(standardInput, &usual) == 0 else {
            write(prompt, to: standardError)
            return readLine() ?? ""
        }
        let interrupt = withUnsafeBytes(of: usual.c_cc) { $0[Int(VINTR)] }
        var hidden = usual
        hidden.c_lflag &= ~tcflag_t(ECHO | ISIG)
        withUnsafeMutableBytes(of: &hidden.c_cc) { $0[Int(VEOL)] = interrupt }
        // Before the prompt: what was typed until now is dropped with it.
        tcsetattr(standardInput, TCSAFLUSH, &hidden)
        write(prompt, to: standardError)
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(standardInput, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n"), byte != interrupt else { break }
            bytes.append(byte)
        }
        tcsetattr(standardInput, TCSAFLUSH, &usual)
        write("\n", to: standardError)
        if byte == interrupt { _exit(128 + SIGINT) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
