internal import BrumeKit
internal import Foundation

/// `brume key`: the account's encryption keys, and the devices that have them.
enum KeyCommands {
    private static let deviceName = OptionDefinition(
        "device-name", "NAME",
        "how other devices show this one if it gets the keys now (default: the host's name and \"command line\")")
    static let options = [CommandOptions.json] + CommandOptions.client

    static let note = """
        The keys are the account's in one container and environment, and the server never has them. The command line \
        is a device of its own, apart from the apps on this machine: it keeps what it has in the folder commands of \
        --state, readable by this user, and not encrypted. Two folders are two devices.
        """
    private static let codeNote = """
        The code alone goes to the standard output, and nowhere else. It is handed out once, by the device that made \
        it: write it down, and keep it apart from the devices. Whoever has it and a token of the account reads \
        everything. If it and all devices are lost, nobody can, the operator included.
        """

    static let definitions = [
        CommandDefinition(
            ["key", "show"], "tell whether this device has the account's encryption keys, and what to do next",
            options: options, notes: [note, CommandOptions.clientNote], secretHint: RecoveryCodeText.hint,
            body: .asynchronous(show)),
        CommandDefinition(
            ["key"], "tell whether this device has the account's encryption keys, and what to do next",
            options: options, isHidden: true, secretHint: RecoveryCodeText.hint, body: .asynchronous(show)),
        CommandDefinition(
            ["key", "devices"], "list the devices that have the keys", options: options,
            notes: [
                """
                Each with an id, by which brume key remove takes it, and the name that it gave itself, which only \
                these devices can read. Two may have the same name. With --json one device a line.
                """, CommandOptions.clientNote,
            ], body: .asynchronous(devices)),
        CommandDefinition(
            ["key", "code"], "print the recovery code, this once; make the keys where there are none",
            options: [
                OptionDefinition(
                    "replace", nil, "make a new code, and new keys; the one before opens nothing from then on"),
                deviceName,
            ] + options, notes: [codeNote, note, CommandOptions.clientNote],
            examples: ["brume key code", "brume key code --replace"], secretHint: RecoveryCodeText.hint,
            body: .asynchronous(code)),
        CommandDefinition(
            ["key", "use"], "let this device in with the recovery code",
            options: [RecoveryCodeText.option, deviceName] + options,
            notes: [
                """
                The code is read from the file that --secret-file (BRUME_SECRET_FILE) names, else from the standard \
                input; a terminal does not show what is typed. Small letters, spaces and hyphens don't matter.
                """, note, CommandOptions.clientNote,
            ], examples: ["brume key use", "brume key use --secret-file ./recovery-code"],
            secretHint: RecoveryCodeText.hint, body: .asynchronous(use)),
        CommandDefinition(
            ["key", "remove"], "take the keys from a device: the others get new ones",
            arguments: [
                ArgumentDefinition("DEVICE", "its id or the beginning of it, or its name if no other device has it")
            ],
            options: [CommandOptions.yes] + options,
            notes: [
                """
                It asks before, or takes --yes. The device can't read what is encrypted from then on; what it could \
                read it may have kept. Have the operator revoke its token as well, and replace the recovery code if \
                the device may know it: with both it would let itself in again.
                """, CommandOptions.clientNote,
            ], body: .asynchronous(remove)),
        CommandDefinition(
            ["key", "trust"], "go on with what the server shows for the keys of a zone, or of a shared record in it",
            arguments: [
                ArgumentDefinition("ZONE", "the zone's name, or default"),
                ArgumentDefinition(
                    "RECORD", "the name of a shared record, which has keys of its own", isOptional: true),
            ],
            options: [CommandOptions.owner, CommandOptions.yes] + options,
            notes: [
                """
                For a zone whose keys are others on the server than this device knows, as after a backup was restored \
                that lacks what devices did since. Until then this device encrypts nothing there. It asks before, or \
                takes --yes: first find out from the operator what happened. What this device knows is still read.
                """,
                """
                In what another user shares (--owner) it goes on with what the owner's newest keys have made: open the \
                share's newest link before, which mostly is enough.
                """,
                """
                Where another user has other keys than this device knows: brume key people, and brume key compare. \
                Where the account's own keys are others, a device that has them lets this one in: brume key enrol.
                """, CommandOptions.clientNote,
            ], examples: ["brume key trust Notes", "brume key trust Lists groceries --owner _5f3c…"],
            body: .asynchronous(trust)),
        CommandDefinition(
            ["key", "reset"], "begin anew when all devices and the recovery code are lost: deletes data",
            options: [CommandOptions.yes, deviceName] + options,
            notes: [
                """
                It asks before, or takes --yes, and prints the new recovery code. What was encrypted before can't be \
                read any more, by anybody. The server deletes the zones in which something was encrypted, with all \
                that is in them, plain fields, assets and shares included; records of the default zone stay. Other \
                devices of the account have to be let in with the new code. A lost code alone is no reason: brume key \
                code --replace makes a new one on a device that has the keys.
                """, codeNote, CommandOptions.clientNote,
            ], body: .asynchronous(reset)),
    ]

    private static func show(_ invocation: Invocation) async throws -> ExitCode {
        let status = try await ClientContext(invocation).container.encryptionStatus()
        if invocation.isOn("json") {
            Terminal.print(KeyText.json(status).line)
        } else {
            let (what, next) = KeyText.sentences(status)
            Terminal.print("\(what)\n\(next)")
        }
        return .done
    }

    private static func devices(_ invocation: Invocation) async throws -> ExitCode {
        let devices = try await ClientContext(invocation).container.encryptionDevices()
        if devices.isEmpty, !invocation.isOn("json") {
            Terminal.print("none: the account has no encryption keys yet, and brume key code makes them")
        }
        for device in devices {
            Terminal.print(invocation.isOn("json") ? KeyText.json(device).line : KeyText.text(device))
        }
        return .done
    }

    private static func code(_ invocation: Invocation) async throws -> ExitCode {
        let container = try await ClientContext(invocation).container
        let code =
            invocation.isOn("replace")
            ? try await container.replaceRecoveryCode() : try await container.recoveryCode()
        print(code, invocation)
        return .done
    }

    /// Writes a code to the standard output, alone, so that a file or another program can take it.
    private static func print(_ code: CKContainer.RecoveryCode, _ invocation: Invocation) {
        if invocation.isOn("json") {
            Terminal.print(JSONValue.object([("code", .string(code.text))]).line)
            return
        }
        Terminal.printError(
            """
            The recovery code, shown this once: write it down, and keep it apart from your devices. Whoever has it and a
            token of the account reads everything. If it and all devices are lost, nobody can.
            """)
        Terminal.print(code.text)
    }

    private static func use(_ invocation: Invocation) async throws -> ExitCode {
        let text = try RecoveryCodeText.read(invocation)
        let container = try await ClientContext(invocation).container
        let before = try await container.encryptionStatus()
        try await container.useRecoveryCode(text)
        let status = try await container.encryptionStatus()
        if invocation.isOn("json") {
            Terminal.print(KeyText.json(status).line)
        } else if before == .available {
            Terminal.print("the code is right, and this device had the account's encryption keys before")
        } else {
            Terminal.print(
                """
                this device has the account's encryption keys now
                brume key devices lists who has them: remove those that are lost with brume key remove
                """)
        }
        return .done
    }

    private static func remove(_ invocation: Invocation) async throws -> ExitCode {
        let container = try await ClientContext(invocation).container
        let status = try await container.encryptionStatus()
        guard status == .available else {
            let (what, next) = KeyText.sentences(status)
            throw CommandError(.failed, what, hint: next)
        }
        let device = try device(invocation.arguments[0], of: try await container.encryptionDevices())
        let name = "\(device.name?.printable() ?? "the device") (\(device.digits))"
        guard
            try CommandOptions.isConfirmed(
                "remove \(name) from the devices that have the account's encryption keys?", invocation)
        else { throw CommandError(.failed, "nothing was removed") }
        try await container.removeEncryptionDevice(device)
        if invocation.isOn("json") {
            Terminal.print(
                JSONValue.object([
                    ("removed", .string(device.digits)), ("name", device.name.map(JSONValue.string) ?? .null),
                ]).line)
        } else {
            Terminal.print(
                """
                removed \(name); the other devices get new keys
                replace the recovery code if the device may know it: brume key code --replace
                have the operator revoke its token: brume account token ACCOUNT --revoke
                """)
        }
        return .done
    }

    /// The device that a word of the command line means.
    private static func device(
        _ word: String, of devices: [CKContainer.EncryptionDevice]
    ) throws(CommandError) -> CKContainer.EncryptionDevice {
        let named = devices.filter { $0.name == word }
        let begun = devices.filter { word.count >= 4 && $0.digits.hasPrefix(word.lowercased()) }
        // An id means its device, whatever others call themselves.
        let matches = begun.count == 1 ? begun : named
        guard let device = matches.first else {
            throw CommandError(
                .notFound, "no device that has the keys has the id or the name \"\(word)\"",
                hint: "brume key devices lists them")
        }
        guard matches.count == 1 else {
            let ids = matches.map(\.digits).joined(separator: ", ")
            throw CommandError(
                .usage, "\(matches.count) devices have the name \"\(word)\"", hint: "name one of them by its id: \(ids)"
            )
        }
        if device.isCurrent {
            throw CommandError(
                .usage, "\"\(word)\" is this device, which can't remove itself",
                hint: "remove it on another device of the account")
        }
        return device
    }

    private static func trust(_ invocation: Invocation) async throws -> ExitCode {
        let place = try ShareCommands.place(invocation, root: invocation.arguments.dropFirst().first)
        let what = ShareText.place(place)
        guard
            try CommandOptions.isConfirmed(
                "go on with what the server shows for the encryption keys of \(what)?", invocation)
        else { throw CommandError(.failed, "nothing was changed") }
        let database = try await ClientContext(invocation).database
        let wasOther =
            if let root = place.root {
                try await database.acceptEncryptionKeys(ofShared: root)
            } else {
                try await database.acceptEncryptionKeys(of: place.zoneID)
            }
        if invocation.isOn("json") {
            let record = place.root.map { JSONValue.string($0.recordName) }
            let owner = place.zoneID.otherOwner.map { [("owner", JSONValue.string($0))] } ?? []
            let members = [("zone", .string(place.zoneID.zoneName))] + (record.map { [("record", $0)] } ?? [])
            Terminal.print(JSONValue.object(members + owner + [("accepted", .bool(wasOther))]).line)
        } else if wasOther {
            let outcome =
                place.zoneID.otherOwner == nil
                ? "has a new key, behind what the server shows" : "is used with the keys that the server shows"
            Terminal.print("\(what) \(outcome); what this device knew is still read")
        } else {
            Terminal.print("nothing to decide: the server shows for \(what) what this device knows")
        }
        return .done
    }

    private static func reset(_ invocation: Invocation) async throws -> ExitCode {
        let container = try await ClientContext(invocation).container
        let status = try await container.encryptionStatus()
        guard try CommandOptions.isConfirmed(question(status), invocation) else {
            throw CommandError(.failed, "nothing was reset")
        }
        print(try await container.resetEncryption(), invocation)
        return .done
    }

    /// The question before a reset, with what it costs.
    private static func question(_ status: CKContainer.EncryptionStatus) -> String {
        if status == .notSetUp { return "the account has no encryption keys yet; make them?" }
        let hasKeys =
            status == .available ? " This device has the keys: brume key code --replace is enough for a lost code." : ""
        return """
            give the account new encryption keys? What was encrypted before can't be read any more, by anybody, and \
            the server deletes the zones in which something was encrypted, with all that is in them.\(hasKeys) Begin \
            anew?
            """
    }
}
