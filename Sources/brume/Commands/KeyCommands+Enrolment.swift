internal import BrumeKit

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
                    "REQUEST", "the eight digits that the new device shows, if several ask", isOptional: true)
            ],
            options: [
                OptionDefinition(
                    "name", "NAME", "how the account's devices show the new one (default: \"device\" and its digits)")
            ] + options,
            notes: [
                stepsNote, inputNote,
                """
                The new device is listed before it takes the keys: where you give it up in between, brume key remove \
                takes it out again.
                """, CommandOptions.clientNote,
            ], examples: ["brume key approve", "brume key approve 1f09c3aa --name \"Anna's laptop\""],
            body: .asynchronous(approve)),
    ]

    private static func enrol(_ invocation: Invocation) async throws -> ExitCode {
        try checkInput(invocation)
        let enrolment = try await ClientContext(invocation).container.requestEnrolment()
        say(
            [("request", enrolment.id)],
            """
            on a device that has the account's encryption keys, within ten minutes: brume key approve \(enrolment.id)
            (an app there shows the request as \(enrolment.id))
            """, invocation)
        let code = try await enrolment.code()
        say([("code", code)], "type this code there: \(code)", invocation)
        guard let typed = readCode("the code that it shows then: ") else {
            await enrolment.cancel()
            throw endOfInput
        }
        try await enrolment.confirm(typed)
        say([("status", "available")], "this device has the account's encryption keys now", invocation)
        return .done
    }

    private static func approve(_ invocation: Invocation) async throws -> ExitCode {
        try checkInput(invocation)
        let container = try await ClientContext(invocation).container
        let request = try request(invocation.arguments.first, of: try await container.enrolmentRequests())
        say(
            [("request", request.id)], "answered the request \(request.id), and waiting for what that device shows",
            invocation)
        let approval = try await container.answer(request)
        guard let typed = readCode("the code that the new device shows: ") else {
            await approval.reject()
            throw endOfInput
        }
        let name = invocation.text("name") ?? "device \(request.id)"
        let code = try await approval.approve(typed, deviceName: name)
        say(
            [("code", code), ("name", name)],
            """
            \(name) is listed, and takes the keys once you type this code into it: \(code)
            if it does not show that it has them: brume key remove "\(name)"
            """, invocation)
        return .done
    }

    /// The request that is meant: the only one, or that of some digits.
    private static func request(
        _ word: String?, of requests: [CKContainer.EnrolmentRequest]
    ) throws(CommandError) -> CKContainer.EnrolmentRequest {
        let ids = requests.map(\.id).joined(separator: ", ")
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

    /// A code from the standard input; what can't be one is asked for again. Nil at the end of the input.
    private static func readCode(_ prompt: String) -> String? {
        while true {
            Terminal.write(prompt, to: Terminal.standardError)
            guard let line = readLine() else {
                Terminal.printError("")
                return nil
            }
            if CKContainer.Enrolment.isCode(line) { return line }
            Terminal.printError("this is no code, which has six letters and digits: look at it again")
        }
    }

    private static let endOfInput = CommandError(
        .failed, "the standard input ended before a code was typed, and the enrolment with it",
        hint: "begin anew: brume key enrol on the new device")

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
