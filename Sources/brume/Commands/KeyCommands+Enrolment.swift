internal import BrumeKit
internal import BrumeLock
internal import Foundation

/// `brume key enrol` and `brume key approve`: one device lets another in, and a person types what each shows into the
/// other.
extension KeyCommands {
    private static let stepsNote = """
        On the new device: brume key enrol. On one that has the keys: brume key approve. Each shows a code of six \
        letters and digits, which you type into the other: first the new one's, then the other's. So nobody between \
        the two, the server included, gets a key. A wrong code ends it, and so do ten minutes. Where no other device \
        is at hand, the recovery code lets this one in: brume key use.
        """
    private static let inputNote = """
        Codes are read from the standard input, a line each; prompts go to the standard error. With --json each step is \
        a line.
        """

    static let enrolmentDefinitions = [
        CommandDefinition(
            ["key", "enrol"], "ask a device that has the keys to let this one in", options: options,
            notes: [stepsNote, inputNote, note, CommandOptions.clientNote], body: .asynchronous(enrol)),
        CommandDefinition(
            ["key", "approve"], "let in a device that asks for the keys",
            arguments: [
                ArgumentDefinition(
                    "REQUEST", "the eight hexadecimal digits that the new device shows, if several ask",
                    isOptional: true)
            ],
            options: [
                OptionDefinition(
                    "name", "NAME", "how the account's devices show the new one (default: \"device\" and its digits)"),
                OptionDefinition("list", nil, "list the requests alone"),
                OptionDefinition("reject", nil, "end the request instead, answered or not"),
            ] + options,
            notes: [
                stepsNote, inputNote,
                """
                The new device is listed before it takes the keys: where you give it up in between, brume key remove \
                takes it out again.
                """, CommandOptions.clientNote,
            ],
            examples: [
                "brume key approve", "brume key approve 1f09c3aa --name \"Anna's laptop\"",
                "brume key approve 1f09c3aa --reject",
            ],
            body: .asynchronous(approve)),
    ]

    /// What this command has answered.
    private final class Answered: Sendable {
        let approval = Lock<CKContainer.EnrolmentApproval?>(nil)
    }

    private static func enrol(_ invocation: Invocation) async throws -> ExitCode {
        try checkInput(invocation)
        let enrolment = try await ClientContext(invocation).container.requestEnrolment()
        let end: @Sendable () async -> Bool = {
            await enrolment.cancel()
            return true
        }
        return try await orEnding(end) { try await ask(enrolment, invocation) }
    }

    private static func ask(_ enrolment: CKContainer.Enrolment, _ invocation: Invocation) async throws -> ExitCode {
        say(
            [("request", enrolment.id)],
            """
            on a device that has the account's encryption keys, within ten minutes: brume key approve \(enrolment.id)
            (an app there shows the request as \(enrolment.id))
            """, invocation)
        let code = try await enrolment.code()
        say([("code", code)], "type this code there: \(code)", invocation)
        let typed = try await readCode("the code that it shows then: ")
        try await enrolment.confirm(typed)
        say([("status", "available")], "this device has the account's encryption keys now", invocation)
        return .done
    }

    private static func approve(_ invocation: Invocation) async throws -> ExitCode {
        try checkInput(invocation)
        let container = try await ClientContext(invocation).container
        let requests = try await container.enrolmentRequests()
        if invocation.isOn("list") { return list(requests, invocation) }
        let isRejection = invocation.isOn("reject")
        let request = try request(invocation.arguments.first, of: requests, mayBeAnswered: isRejection)
        if isRejection {
            try await container.reject(request)
            say([("rejected", request.id)], "ended the request \(request.id)", invocation)
            return .done
        }
        let answered = Answered()
        // Before it is answered by this command it may be by another one, whose it is then.
        let end: @Sendable () async -> Bool = {
            guard let approval = answered.approval.withLock(\.self) else { return false }
            await approval.reject()
            return true
        }
        return try await orEnding(end) { try await answer(request, container, answered, invocation) }
    }

    private static func answer(
        _ request: CKContainer.EnrolmentRequest, _ container: CKContainer,
        _ answered: Answered, _ invocation: Invocation
    ) async throws -> ExitCode {
        say(
            [("request", request.id)], "answering the request \(request.id), and waiting for what that device shows",
            invocation)
        let approval = try await container.answer(request)
        answered.approval.withLock { $0 = approval }
        let typed = try await readCode("the code that the new device shows: ")
        let name = invocation.text("name") ?? ""
        let code = try await approval.approve(typed, deviceName: name)
        say(
            [("code", code)],
            """
            the new device is listed, and takes the keys once you type this code into it: \(code)
            if it does not show that it has them, remove it: brume key devices, brume key remove
            """, invocation)
        return .done
    }

    private static func list(
        _ requests: [CKContainer.EnrolmentRequest], _ invocation: Invocation
    ) -> ExitCode {
        if requests.isEmpty, !invocation.isOn("json") {
            Terminal.print("no device asks for the account's encryption keys")
        }
        for request in requests {
            let seconds = Int(request.secondsLeft)
            if invocation.isOn("json") {
                Terminal.print(
                    JSONValue.object([
                        ("request", .string(request.id)), ("answered", .bool(request.isAnswered)),
                        ("secondsLeft", .integer(Int64(seconds))),
                    ]).line)
            } else {
                Terminal.print("\(request.id)  \(seconds) s left\(request.isAnswered ? ", answered" : "")")
            }
        }
        return .done
    }

    /// The request that is meant: the only one, or that of some digits.
    private static func request(
        _ word: String?, of all: [CKContainer.EnrolmentRequest], mayBeAnswered: Bool
    ) throws(CommandError) -> CKContainer.EnrolmentRequest {
        let requests = all.filter { mayBeAnswered || !$0.isAnswered }
        let ids = requests.map(\.id).joined(separator: ", ")
        if let answered = all.first(where: { $0.isAnswered && $0.id == word?.lowercased() ?? $0.id }),
            !mayBeAnswered, word != nil || requests.isEmpty
        {
            throw CommandError(
                .conflict, "request \(answered.id) was answered already",
                hint: "begin anew on the new device: brume key enrol")
        }
        guard let word else {
            guard let request = requests.first else {
                throw CommandError(
                    .notFound, "no device asks for the account's encryption keys",
                    hint: "ask on the new one first: brume key enrol")
            }
            guard requests.count == 1 else {
                throw CommandError(
                    .usage, "\(requests.count) devices ask for the account's encryption keys: \(ids)",
                    hint: "name the one that your new device shows: brume key approve \(request.id)")
            }
            return request
        }
        guard let request = requests.first(where: { $0.id == word.lowercased() }) else {
            throw CommandError(
                .notFound, "no device asks for the account's encryption keys as \"\(word)\"",
                hint: requests.isEmpty ? "ask on the new one first: brume key enrol" : "these ask: \(ids)")
        }
        return request
    }

    // MARK: The person

    /// A code from the standard input; what can't be one is asked for again.
    private static func readCode(_ prompt: String) async throws -> String {
        while true {
            Terminal.write(prompt, to: Terminal.standardError)
            // A thread of its own: an interrupt is dealt with while it waits.
            let line = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: readLine()) }
            }
            guard let line else {
                Terminal.printError("")
                throw CommandError(
                    .failed, "the standard input ended before a code was typed, and the enrolment with it",
                    hint: "begin anew: brume key enrol on the new device")
            }
            if CKContainer.Enrolment.isCode(line) { return line }
            Terminal.printError("this is no code, which has six letters and digits: look at it again")
        }
    }

    /// Ends the enrolment where a person interrupts the command, and where it fails: four can be open for ten minutes.
    ///
    /// - Parameter end: Returns false where there is nothing to end but the task of `body`.
    private static func orEnding(
        _ end: @escaping @Sendable () async -> Bool, _ body: @escaping @Sendable () async throws -> ExitCode
    ) async throws -> ExitCode {
        let task = Task { try await body() }
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                // A second one does not wait.
                signal(number, SIG_DFL)
                Task {
                    if await !end() {
                        task.cancel()
                        _ = await task.result
                    }
                    _exit(128 + number)
                }
            }
            source.resume()
            return (number, source)
        }
        defer {
            for (number, source) in sources {
                source.cancel()
                signal(number, SIG_DFL)
            }
        }
        do {
            return try await task.value
        } catch {
            _ = await end()
            throw error
        }
    }

    private static func checkInput(_ invocation: Invocation) throws(UsageError) {
        guard invocation.text("token-file") == "-" else { return }
        throw UsageError(
            "the standard input holds the token or the codes, not both", hint: "name a file with --token-file")
    }

    private static func say(_ members: [(key: String, value: String)], _ text: String, _ invocation: Invocation) {
        guard invocation.isOn("json") else { return Terminal.print(text) }
        Terminal.print(JSONValue.object(members.map { ($0.key, .string($0.value)) }).line)
    }
}
