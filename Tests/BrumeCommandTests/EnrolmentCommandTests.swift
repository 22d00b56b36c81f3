internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

/// The real executable on two devices, with a person who reads from one and types into the other.
@Suite("Letting a device in on the command line", .timeLimit(.minutes(3)))
struct EnrolmentCommandTests {
    let server: ServerProcess

    init() throws { server = try ServerProcess.dev(folder: TestFolder()) }

    /// A command that has begun and reads from its person.
    private struct Session {
        let process: ChildProcess
        private let errorPath: String

        init(_ words: [String], on device: String, _ server: ServerProcess) throws {
            errorPath = server.folder.path + "/errors-\(UUID().uuidString)"
            process = try ChildProcess(
                executable: CommandRun.executable, arguments: words,
                environment: CommandRun.clean(
                    server.environment().merging(["BRUME_STATE": server.folder.file(device)]) { $1 }),
                errors: .file(errorPath))
        }

        func line() throws -> String {
            try #require(
                process.output.readLine(timeoutMilliseconds: CommandRun.timeoutMilliseconds), "\(errors)")
        }

        /// What stands behind the last colon of the next line.
        func told() throws -> String {
            let line = try line()
            return String(try #require(line.split(separator: " ").last))
        }

        func end() -> (status: Int32, errors: String) {
            process.closeInput()
            let status = process.wait()
            return (status, errors)
        }

        var errors: String {
            String(decoding: FileManager.default.contents(atPath: errorPath) ?? Data(), as: UTF8.self)
        }
    }

    private func run(_ device: String, _ words: String..., input: String = "") throws -> CommandRun {
        try CommandRun(
            words, environment: server.environment().merging(["BRUME_STATE": server.folder.file(device)]) { $1 },
            input: input, in: server.folder)
    }

    private func makeKeys() throws { #expect(try run("desk", "key", "code").status == 0) }

    @Test("a person types what each device shows into the other, and the new one has the keys")
    func letIn() throws {
        try makeKeys()
        let bag = try Session(["key", "enrol"], on: "bag", server)
        let digits = try bag.told()
        #expect(digits.count == 8)
        #expect(try bag.line().contains(digits))
        let desk = try Session(["key", "approve", "--name", "Ada's bag"], on: "desk", server)
        #expect(try desk.line().contains(digits))
        let shown = try bag.told()
        desk.process.write("what?\n\(shown.lowercased())\n")
        let answer = try desk.told()
        #expect(try desk.line().contains("brume key remove"))
        bag.process.write(answer + "\n")
        #expect(try bag.line() == "this device has the account's encryption keys now")
        let ended = (bag.end(), desk.end())
        #expect(ended.0.status == 0 && ended.0.errors.contains("the code that it shows then: "), "\(ended.0.errors)")
        #expect(ended.1.status == 0 && ended.1.errors.contains("look at it again"), "\(ended.1.errors)")
        #expect(!(ended.0.errors + ended.1.errors).contains(shown))
        let devices = try run("bag", "key", "devices").output
        #expect(devices.count == 2 && devices[1].hasSuffix("Ada's bag  (this one)"), "\(devices)")
        let again = try run("bag", "key", "enrol")
        #expect(again.status != 0 && again.errors.contains("has the account's encryption keys already"))
    }

    @Test("a program gets each step as a line of JSON, and names the request where there are several")
    func json() throws {
        try makeKeys()
        let other = try Session(["key", "enrol", "--json"], on: "other", server)
        let first = try JSONParser.value(of: other.line())["request"]?.text
        let bag = try Session(["key", "enrol", "--json"], on: "bag", server)
        let request = try #require(try JSONParser.value(of: bag.line())["request"]?.text)
        let unnamed = try run("desk", "key", "approve")
        #expect(unnamed.status == ExitCode.usage.rawValue)
        #expect(unnamed.errors.contains(request) && unnamed.errors.contains(first ?? "?"), "\(unnamed.errors)")
        let unknown = try run("desk", "key", "approve", "00000000")
        #expect(unknown.status == ExitCode.notFound.rawValue && unknown.errors.contains(request), "\(unknown.errors)")

        let desk = try Session(["key", "approve", request, "--json"], on: "desk", server)
        #expect(try desk.line() == "{\"request\":\"\(request)\"}")
        desk.process.write(try #require(try JSONParser.value(of: bag.line())["code"]?.text) + "\n")
        let told = try JSONParser.value(of: desk.line())
        let listed = try run("desk", "key", "approve", "--list", "--json").output
        #expect(listed.count == 2 && listed[1].hasPrefix("{\"request\":\"\(request)\",\"answered\":true,"), "\(listed)")
        bag.process.write(try #require(told["code"]?.text) + "\n")
        #expect(try bag.line() == "{\"status\":\"available\"}")
        #expect(bag.end().status == 0 && desk.end().status == 0)
        #expect(try run("bag", "key", "devices").output.last?.contains("device \(request)") == true)
        // The request that nobody answered is ended by an interrupt.
        other.process.send(SIGINT)
        #expect(other.process.wait() == 128 + SIGINT)
        #expect(try run("desk", "key", "approve", "--list", "--json").output.isEmpty)
    }

    @Test("requests that nobody knows of are turned away, so that others can ask")
    func rejecting() throws {
        try makeKeys()
        let sessions = try (0..<4).map { _ in try Session(["key", "enrol"], on: "bag", server) }
        let digits = try sessions.map { try $0.told() }
        let fifth = try run("bag", "key", "enrol")
        #expect(fifth.status == ExitCode.failed.rawValue && fifth.errors.contains("ten minutes"), "\(fifth.errors)")
        #expect(try run("desk", "key", "approve", "--list").output.count == 4)
        for digits in digits { #expect(try run("desk", "key", "approve", digits, "--reject").status == 0) }
        #expect(
            try run("desk", "key", "approve", "--list").output == ["no device asks for the account's encryption keys"])
        for session in sessions { #expect(session.end().status == ExitCode.notFound.rawValue) }
    }

    @Test("a wrong code ends it on both devices, and so does the end of what is typed")
    func ended() throws {
        try makeKeys()
        let bag = try Session(["key", "enrol"], on: "bag", server)
        _ = (try bag.line(), try bag.line())
        let desk = try Session(["key", "approve"], on: "desk", server)
        let shown = try bag.told()
        desk.process.write((shown.hasPrefix("0") ? "1" : "0") + shown.dropFirst() + "\n")
        let (status, errors) = desk.end()
        #expect(status == ExitCode.failed.rawValue && errors.contains("begin anew on the new device"), "\(errors)")
        bag.process.write("000000\n")
        #expect(bag.end().status == ExitCode.failed.rawValue)

        let second = try Session(["key", "enrol"], on: "bag", server)
        _ = (try second.line(), try second.line())
        let silent = try Session(["key", "approve"], on: "desk", server)
        _ = try second.told()
        #expect(silent.end().errors.contains("the standard input ended before a code was typed"))
        #expect(second.end().status == ExitCode.failed.rawValue)
        #expect(try run("desk", "key", "devices").output.count == 1)
    }

    @Test("what can't be done says what to do instead")
    func refused() throws {
        let early = try run("bag", "key", "enrol")
        #expect(
            early.status == ExitCode.notFound.rawValue && early.errors.contains("brume key code"), "\(early.errors)")
        try makeKeys()
        let none = try run("desk", "key", "approve")
        #expect(none.status == ExitCode.notFound.rawValue && none.errors.contains("brume key enrol"), "\(none.errors)")
        let keyless = try run("bag", "key", "approve")
        #expect(keyless.status == ExitCode.failed.rawValue, "\(keyless.errors)")
        #expect(keyless.errors.contains("(brume key enrol)") && !keyless.errors.contains("CKContainer"))
        #expect(try run("bag", "key").output.joined().contains("brume key enrol"))
        let token = try run("bag", "key", "enrol", "--token-file", "-", input: "x")
        #expect(token.status == ExitCode.usage.rawValue && token.errors.contains("--token-file"), "\(token.errors)")
    }
}
