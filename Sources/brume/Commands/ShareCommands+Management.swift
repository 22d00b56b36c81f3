internal import BrumeKit

/// The commands that change a share: for its owner, and with --owner for its administrators.
extension ShareCommands {
    private static let users = ArgumentDefinition(
        "USER",
        """
        an e-mail address, a phone number, a user record name, the word anybody, or the URL of an invitation for \
        anybody
        """,
        repeats: true)
    private static let requester = ArgumentDefinition(
        "USER", "a user record name, as brume shares show prints it", repeats: true)
    private static let shared = OptionDefinition(
        "record", "RECORD", "the shared record's name; left out: the whole zone is shared")
    private static let options = [CommandOptions.owner, CommandOptions.json] + CommandOptions.client
    private static let managerNote = "With --owner a share's administrators do the same to the share of another user."

    static let management = [
        CommandDefinition(
            ["shares", "change"], "change a share's title, and what those may do who have its URL",
            arguments: [zone, record],
            options: [
                OptionDefinition("title", "TEXT", "what those who are invited are shown; empty: no title"),
                publicPermission(), OptionDefinition("requests", nil, "let whoever has the URL ask for access"),
                OptionDefinition("no-requests", nil, "let nobody ask any more"),
            ] + options,
            notes: [
                """
                What is not named stays, and the share is printed. These options count in the command line only. \
                Another public permission ends the invitations that nobody has accepted; with none, those who came by \
                the URL take part no longer.
                """, managerNote, CommandOptions.clientNote,
            ],
            examples: [
                "brume shares change Lists groceries --title Groceries --requests",
                "brume shares change Lists groceries --public read",
            ],
            body: .asynchronous(change)),
        CommandDefinition(
            ["shares", "add"], "invite users, let in who asked, or change what participants are and may do",
            arguments: [zone, users],
            options: [
                shared,
                OptionDefinition(
                    "permission", "WHAT", "what they may do: read or write; left out: read, or as before"),
                OptionDefinition(
                    "role", "ROLE", "administrator, who may change the share, or user; left out: user, or as before"),
            ] + options,
            notes: [
                """
                Those who are invited take part when they accept the share's URL (brume shares accept); whoever is \
                invited by an address or a number needs an account that has it (brume account handles). anybody makes \
                an invitation with a URL of its own, for whoever comes first. A user who asked for access is let in by \
                their user record name, which brume shares show prints; one who was blocked is blocked no longer.
                """, managerNote, CommandOptions.clientNote,
            ],
            examples: [
                "brume shares add Lists bob@example.com --record groceries --permission write",
                "brume shares add Lists bob@example.com --record groceries --role administrator",
            ],
            body: .asynchronous(add)),
        CommandDefinition(
            ["shares", "remove"], "remove participants and invitations, and deny requests",
            arguments: [zone, users],
            options: [shared] + options,
            notes: [
                """
                anybody takes back all invitations for whoever comes first that nobody has used yet; the URL of one \
                takes back that one. A user whose request is denied may ask again: brume shares block denies it for \
                good.
                """, managerNote, CommandOptions.clientNote,
            ],
            body: .asynchronous(remove)),
        CommandDefinition(
            ["shares", "block"], "deny users' requests for access for good", arguments: [zone, requester],
            options: [shared] + options,
            notes: [
                """
                They can neither ask again nor come by the URL, and are not told. brume shares unblock lets them ask \
                again, brume shares add invites them.
                """, managerNote, CommandOptions.clientNote,
            ],
            body: .asynchronous(block)),
        CommandDefinition(
            ["shares", "unblock"], "let blocked users ask for access again", arguments: [zone, requester],
            options: [shared] + options, notes: [managerNote, CommandOptions.clientNote],
            body: .asynchronous(unblock)),
    ]

    // MARK: The share itself

    private static func change(_ invocation: Invocation) async throws -> ExitCode {
        // A variable, or a file for several commands, is for shares that are made.
        func isNamed(_ option: String) -> Bool { invocation.flags.contains(option) }
        let title = isNamed("title") ? invocation.text("title") : nil
        let permission = isNamed("public") ? try permission("public", invocation) : nil
        if isNamed("requests"), isNamed("no-requests") {
            throw UsageError("give --requests or --no-requests, not both", command: invocation.command)
        }
        let allowsRequests = isNamed("requests") ? true : isNamed("no-requests") ? false : nil
        if title == nil, permission == nil, allowsRequests == nil {
            throw UsageError(
                "name what to change: --title, --public, --requests or --no-requests", command: invocation.command)
        }
        return try await edit(at: place(invocation, root: invocation.arguments.dropFirst().first), invocation) {
            (share, _) in
            if let title { share[CKShare.SystemFieldKey.title] = title.isEmpty ? nil : title }
            if let permission { share.publicPermission = permission }
            if let allowsRequests { share.allowsAccessRequests = allowsRequests }
        }
    }

    // MARK: Its users

    private static func add(_ invocation: Invocation) async throws -> ExitCode {
        let permission = invocation.text("permission") == nil ? nil : try permission("permission", invocation)
        let role = try role(invocation)
        return try await editUsers(invocation) { share, user in
            let isNobodyYet = user.lookupInfo == nil && !user.isURL
            if !isNobodyYet, let known = share.participants(user).first {
                if known.role == .publicUser, role != nil || permission ?? known.permission != known.permission {
                    throw CommandError(
                        .failed, "\(user.text) came by the URL, and may do what all may who have it",
                        hint: "\(command("change", share, invocation)) --public WHAT changes that for all of them")
                }
                if let permission { known.permission = permission }
                if let role { known.role = role }
                return
            }
            guard share.publicPermission == .none else {
                throw CommandError(
                    .failed, "whoever has the URL of this share may take part, so nobody is invited to it",
                    hint:
                        "send them the URL: \(command("show", share, invocation)) prints it; "
                        + "\(command("change", share, invocation)) --public none lets in only who is invited")
            }
            let participant: CKShare.Participant
            if let info = user.lookupInfo {
                participant = try await user.container.shareParticipants(for: [info])[info]!.get()
            } else if isNobodyYet {
                participant = CKShare.Participant.oneTimeURLParticipant()
            } else {
                throw noParticipant
            }
            participant.permission = permission ?? .readOnly
            participant.role = role ?? .privateUser
            share.addParticipant(participant)
        }
    }

    private static func role(_ invocation: Invocation) throws(UsageError) -> CKShare.ParticipantRole? {
        switch invocation.text("role") {
        case nil: nil
        case "administrator"?: .administrator
        case "user"?: .privateUser
        default: throw UsageError("--role is administrator or user", command: invocation.command)
        }
    }

    private static func remove(_ invocation: Invocation) async throws -> ExitCode {
        try await editUsers(invocation) { share, user in
            let requesters = share.requesters(user)
            if !requesters.isEmpty { share.denyRequesters(requesters) }
            let participants = share.participants(user)
            if participants.isEmpty, requesters.isEmpty {
                if user.lookupInfo == nil, !user.isURL {
                    throw CommandError(.failed, "no invitation for whoever comes first waits to be used")
                }
                if share.owner.userIdentity.userRecordID?.recordName == user.text {
                    throw CommandError(
                        .failed, "the owner of a share always takes part",
                        hint: "brume shares delete ends a share, for its owner")
                }
                throw noParticipant
            }
            for participant in participants { share.removeParticipant(participant) }
        }
    }

    private static func block(_ invocation: Invocation) async throws -> ExitCode {
        try await editUsers(invocation) { share, user in
            let requesters = share.requesters(user)
            if !requesters.isEmpty { return share.blockRequesters(requesters) }
            // Somebody else may have done it meanwhile.
            if !share.blockedIdentities(user).isEmpty { return }
            if !share.participants(user).isEmpty {
                throw CommandError(
                    .failed, "\(user.text) is invited or takes part, and only who asks for access is blocked",
                    hint: "brume shares remove takes participants and invitations away")
            }
            throw CommandError(
                .failed, "\(user.text) has not asked for access",
                hint: "\(command("show", share, invocation)) prints who asks, by user record name")
        }
    }

    private static func unblock(_ invocation: Invocation) async throws -> ExitCode {
        try await editUsers(invocation) { share, user in
            let blocked = share.blockedIdentities(user)
            if blocked.isEmpty {
                throw CommandError(
                    .failed, "\(user.text) is not blocked",
                    hint: "\(command("show", share, invocation)) prints who is, by user record name")
            }
            share.unblockIdentities(blocked)
        }
    }

    private static let noParticipant = CommandError(
        .failed, "no participant of that name; name them as `brume shares show` prints them")

    /// Another command for the same share.
    private static func command(_ name: String, _ share: CKShare, _ invocation: Invocation) -> String {
        let zoneID = share.recordID.zoneID
        let record = invocation.text("record").map { " \($0)" } ?? ""
        return "brume shares \(name) \(zoneID.zoneName)\(record)" + (zoneID.otherOwner.map { " --owner \($0)" } ?? "")
    }

    // MARK: Saving

    /// How often a change is tried on a share that others change meanwhile.
    private static let changeAttempts = 5

    /// Changes a share for each of the users whom the command line names, and saves it once.
    private static func editUsers(
        _ invocation: Invocation, _ body: (CKShare, NamedUser) async throws -> Void
    ) async throws -> ExitCode {
        let users = invocation.arguments.dropFirst()
        return try await edit(at: place(invocation, root: invocation.text("record")), invocation) { share, container in
            for user in try users.map({ try NamedUser($0, container: container) }) { try await body(share, user) }
        }
    }

    /// Changes a share, saves it, and prints it. Where somebody else has changed it meanwhile, the change is made to
    /// what the share is then.
    private static func edit(
        at place: (zoneID: CKRecordZone.ID, root: CKRecord.ID?), _ invocation: Invocation,
        _ body: (CKShare, CKContainer) async throws -> Void
    ) async throws -> ExitCode {
        let context = try await ClientContext(invocation)
        var attempt = 1
        while true {
            let share = try await share(at: place, in: context.database)
            try await body(share, context.container)
            do {
                try await context.database.save(share)
                return try await print(share, root: place.root, invocation, context)
            } catch CKError.serverRecordChanged where attempt < changeAttempts {
                attempt += 1
            }
        }
    }
}
