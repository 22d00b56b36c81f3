internal import BrumeKit
internal import Foundation

/// `brume key people`, `give` and `compare`: the keys of those with whom something is shared.
extension KeyCommands {
    private static let zone = ArgumentDefinition("ZONE", "the name of the zone in which something is shared")
    private static let record = ArgumentDefinition(
        "RECORD", "the name of the shared record; left out: the zone is shared as a whole", isOptional: true)
    private static let user = ArgumentDefinition("USER", "the user record name that brume key people prints")
    private static let numberNote = """
        The safety number is the same for both users if, and only if, each sees the other's genuine keys: compare it \
        side by side or on the phone, and not by what the server carries.
        """

    static let peopleDefinitions = [
        CommandDefinition(
            ["key", "people"], "list who has the keys of what is shared, and who waits for them",
            arguments: [zone, record], options: [CommandOptions.owner] + options,
            notes: [
                """
                The account itself is left out. Of each the user record name, how this device knows their keys, whether \
                they wait, and the safety number. Whoever came by the share's whole URL gets the keys by this or any \
                other command that fetches what is shared; the others wait for brume key give.
                """, numberNote, CommandOptions.clientNote,
            ],
            examples: ["brume key people Lists groceries", "brume key people Lists --owner _5f3c…"],
            body: .asynchronous(people)),
        CommandDefinition(
            ["key", "give"], "give the keys of what is shared to somebody who waits for them",
            arguments: [user, zone, record], options: [CommandOptions.yes] + options,
            notes: [
                """
                For those who accepted without the share's whole URL, by one that was replaced, or before there were \
                keys. They read all that is encrypted in it. It asks before, or takes --yes. Where that matters, \
                compare the safety numbers before: brume key compare.
                """, CommandOptions.clientNote,
            ], examples: ["brume key give _5f3c… Lists groceries"], body: .asynchronous(give)),
        CommandDefinition(
            ["key", "compare"], "say that a safety number is the one that the other user's device shows",
            arguments: [user, zone, record],
            options: [
                CommandOptions.owner,
                OptionDefinition(
                    "number", "DIGITS",
                    "the sixty digits that the other user reads out; spaces between them don't matter"),
            ] + options,
            notes: [
                """
                Where the digits are the same, this device knows the user by these keys from then on, also where it knew \
                other ones, as after the user's brume key reset. It gives nobody keys: brume key give does.
                """, numberNote, CommandOptions.clientNote,
            ],
            examples: ["brume key compare _5f3c… Lists groceries --number \"04712 33801 …\""],
            body: .asynchronous(compare)),
    ]

    private static func people(_ invocation: Invocation) async throws -> ExitCode {
        let place = try ShareCommands.place(invocation, root: invocation.arguments.dropFirst().first)
        let people = try await people(at: place, in: try await ClientContext(invocation).database)
        if people.isEmpty, !invocation.isOn("json") {
            Terminal.print(
                place.zoneID.otherOwner == nil
                    ? "nobody: the keys of \(ShareText.place(place)) are this account's alone, if there are any, and "
                        + "nobody who has keys of their own waits for them"
                    : "nobody: \(ShareText.place(place)) has no keys of its own that this account is told of")
        }
        for person in people {
            Terminal.print(invocation.isOn("json") ? KeyText.json(person).line : KeyText.text(person))
        }
        return .done
    }

    private static func give(_ invocation: Invocation) async throws -> ExitCode {
        let place = try place(invocation)
        let database = try await ClientContext(invocation).database
        let person = try await person(invocation.arguments[0], at: place, in: database)
        let (name, what) = (person.userRecordID.recordName, ShareText.place(place))
        if person.isWaiting {
            let question = """
                give user \(name) (\(KeyText.sentence(person.standing)), safety number \(person.safetyNumber)) the \
                encryption keys of \(what)?
                """
            guard try CommandOptions.isConfirmed(question, invocation) else {
                throw CommandError(.failed, "nothing was given")
            }
            try await database.giveEncryptionKeys(to: person)
        }
        Terminal.print(
            invocation.isOn("json")
                ? JSONValue.object([("userRecordName", .string(name)), ("given", .bool(person.isWaiting))]).line
                : "\(name) has the keys of \(what)\(person.isWaiting ? " now" : "")")
        return .done
    }

    private static func compare(_ invocation: Invocation) async throws -> ExitCode {
        let digits = try invocation.required("number").filter { !$0.isWhitespace && $0 != "-" }
        guard digits.count == 60, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else {
            throw CommandError(
                .usage, "a safety number has sixty digits, and this has \(digits.count) characters",
                hint: "brume key people prints it on the other user's device")
        }
        let place = try place(invocation)
        let context = try await ClientContext(invocation)
        let person = try await person(invocation.arguments[0], at: place, in: context.database)
        guard person.safetyNumber.filter({ $0 != " " }) == digits else {
            throw CommandError(
                .failed,
                "the safety number of \(person.userRecordID.recordName) is another one here, and nothing was "
                    + "changed: the server shows one of you other keys than the other one has, or a digit is wrong",
                hint: "brume key people prints it on both devices")
        }
        let trusted = try await context.container.trust(person)
        Terminal.print(
            invocation.isOn("json")
                ? KeyText.json(trusted).line
                : "this device knows \(person.userRecordID.recordName) by these keys now"
                    + (person.isWaiting && place.zoneID.otherOwner == nil ? "; brume key give hands them out" : ""))
        return .done
    }

    // MARK: What the command line names

    /// What is shared, of a command whose first argument is a user.
    private static func place(_ invocation: Invocation) throws -> (zoneID: CKRecordZone.ID, root: CKRecord.ID?) {
        try ShareCommands.place(invocation, zoneAt: 1, root: invocation.arguments.dropFirst(2).first)
    }

    private static func people(
        at place: (zoneID: CKRecordZone.ID, root: CKRecord.ID?), in database: CKDatabase
    ) async throws -> [CKContainer.EncryptionPerson] {
        if let root = place.root { return try await database.encryptionPeople(ofShared: root) }
        return try await database.encryptionPeople(of: place.zoneID)
    }

    private static func person(
        _ name: String, at place: (zoneID: CKRecordZone.ID, root: CKRecord.ID?), in database: CKDatabase
    ) async throws -> CKContainer.EncryptionPerson {
        let people = try await people(at: place, in: database)
        guard let person = people.first(where: { $0.userRecordID.recordName == name }) else {
            throw CommandError(
                .notFound, "no user \(name) has the encryption keys of \(ShareText.place(place)), or waits for them",
                hint: "brume key people lists them; whoever has no keys of their own gets some with brume key code")
        }
        return person
    }
}
