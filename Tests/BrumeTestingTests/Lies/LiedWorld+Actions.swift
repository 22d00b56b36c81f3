import BrumeRandom
import BrumeTesting
import CloudKit
import Testing

/// What Ada's apps, her guests and the server do, one thing after another.
extension LiedWorld {
    func step() async throws {
        let lies = random.oneIn(3) ? try await lie() : []
        isLying = !lies.isEmpty
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<4: try await create()
        case 4..<8: try await edit()
        case 8..<12: try await move()
        case 12..<15: try await moveByServer()
        case 15..<17: try await editByGuest()
        case 17: try await encryptAnew()
        case 18: try relaunch()
        default: break
        }
        allow()
        try await check()
        for lie in lies { lie.remove() }
        isLying = false
    }

    // MARK: Ada's apps

    private func adasDevice() -> TestDevice { random.oneIn(2) ? phone : laptop }

    private func reference(_ name: String) -> CKRecord.Reference {
        CKRecord.Reference(recordID: id(name), action: .none)
    }

    /// A new record: nothing in it says where it is, but what is above it does.
    private func create() async throws {
        guard let name = Self.others.first(where: { current[$0] == nil }) else { return }
        let parent = random.pick(names)
        let record = CKRecord(recordType: "Item", recordID: id(name))
        record.parent = reference(parent)
        let values = newValues(of: name, random.oneIn(3) ? ["text"] : Self.fields)
        set(values, of: record)
        let device = adasDevice()
        note("\(device) makes \(name) below \(parent)")
        await attempt("make") {
            try await device.privateCloudDatabase.save(record)
            current[name] = values
            (meant[name], actual[name]) = (parent, parent)
            treesOf[name] = [root(of: name, in: meant)]
        }
    }

    private func edit() async throws {
        let (name, device) = (random.pick(names), adasDevice())
        let values = newValues(of: name, [random.pick(Self.fields)])
        note("\(device) sets \(values) of \(name)")
        await attempt("edit") {
            let record = try await device.privateCloudDatabase.record(for: id(name))
            set(values, of: record)
            try await device.privateCloudDatabase.save(record)
            current[name]!.merge(values) { $1 }
            treesOf[name, default: []].insert(root(of: name, in: meant))
        }
    }

    private func move() async throws {
        let movable = names.filter { !Self.roots.contains($0) }
        if movable.isEmpty { return }
        let name = random.pick(movable)
        let parents = names.filter { !isBelow($0, name, in: meant) && !isBelow($0, name, in: actual) }
        let (parent, device) = (random.pick(parents), adasDevice())
        let values = random.oneIn(4) ? newValues(of: name, ["text"]) : [:]
        note("\(device) moves \(name) below \(parent) \(values)")
        await attempt("move") {
            let record = try await device.privateCloudDatabase.record(for: id(name))
            record.parent = reference(parent)
            set(values, of: record)
            try await device.privateCloudDatabase.save(record)
            current[name]!.merge(values) { $1 }
            (meant[name], actual[name]) = (parent, parent)
            // Below a record that the server has moved it keeps the keys that it has.
            if root(of: parent, in: meant) == root(of: parent, in: actual) { treesOf[name] = [] }
            treesOf[name, default: []].insert(root(of: name, in: meant))
            // What is below a record that comes into a share follows.
            for other in names where isBelow(other, name, in: meant) {
                treesOf[other, default: []].insert(root(of: other, in: meant))
            }
        }
    }

    private func encryptAnew() async throws {
        let device = adasDevice()
        note("\(device) encrypts anew")
        await attempt("encrypt anew") {
            let done = try await device.privateCloudDatabase.reencryptRecords(in: zone.zoneID)
            note("  \(done.count), and not \(done.failures.keys.map(\.recordName).sorted())")
            if done.count > 0 { count("encrypted anew") }
        }
    }

    private func relaunch() throws {
        note("the phone's app is started again")
        phone = try phone.relaunched()
    }

    // MARK: Others

    /// A guest writes what they see, wherever the server has put it.
    private func editByGuest() async throws {
        let index = Int.random(in: guests.indices, using: &random)
        let guest = guests[index]
        let visible = names.filter { root(of: $0, in: actual) == guest.root }
        let name = random.pick(visible)
        let values = newValues(of: name, [random.pick(Self.fields)])
        note("\(guest.device) sets \(values) of \(name)")
        await attempt("edit by guest") {
            let database = guest.device.sharedCloudDatabase
            let record = try await database.record(for: id(name, owner: false))
            set(values, of: record)
            try await database.save(record)
            current[name]!.merge(values) { $1 }
            guests[index].allowed.formUnion(values.values)
            treesOf[name, default: []].insert(guest.root)
            // What is written there is theirs, and says from then on that the record is.
            if root(of: name, in: meant) != guest.root { guests[index].written.insert(name) }
        }
    }

    /// The server puts a record below another one, or below none.
    private func moveByServer() async throws {
        let name = random.pick(names.filter { !Self.roots.prefix(2).contains($0) })
        let parents = names.filter { !isBelow($0, name, in: meant) && !isBelow($0, name, in: actual) }
        let parent = random.oneIn(5) ? nil : random.pick(parents)
        note("the server moves \(name) below \(parent ?? "nothing")")
        var isMoved = false
        while !isMoved {
            let record = try await hand.privateCloudDatabase.record(for: id(name))
            record.parent = parent.map(reference)
            do {
                try await hand.privateCloudDatabase.save(record)
                isMoved = true
            } catch CKError.serverRecordChanged {
                // A device has just encrypted it anew.
            }
        }
        actual[name] = parent
        count("move by the server")
    }

    /// The server lies to somebody for a step.
    private func lie() async throws -> [ScriptRule] {
        let device = random.pick([phone, laptop] + guests.map(\.device))
        let isOwner = device.account == phone.account
        let owned = { [self] (name: String) in id(name, owner: isOwner) }
        let (name, other) = (random.pick(names), random.pick(names))
        let (record, others) = (owned(name), owned(other))
        var lies: [ServerLie] = [
            .swapsFields("text", "title", of: record), .flipsByte(40, ofField: "text", of: record),
            .cutsField("title", of: record, toByteCount: 30),
            .showsPlainText("secret lie", inField: "text", of: record),
            .showsRecordType("Other", of: record), .showsParent(others, of: record),
            .hidesKeys(ofZone: zone.zoneID), .withholdsKeys(ofZone: zone.zoneID),
        ]
        // A device that encrypts anew would take an older value for the record's.
        if isOwner, name != other { lies.append(.copiesField("text", from: others, to: record)) }
        if !isOwner { lies.append(.copiesField("text", from: id(other), of: "ada", to: record)) }
        if isOwner { lies += [.showsRecord(others, insteadOf: record), .listsForReencryption(names.map(owned))] }
        let lie = random.pick(lies)
        note("the server says to \(device): \(lie)")
        count("lie")
        return [try await server.lie(lie, to: device)]
    }

    /// What fails has no effect: a device without something to go by writes nothing.
    private func attempt(_ action: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            count(action)
        } catch {
            let known: Set<CKError.Code> = [
                .accountTemporarilyUnavailable, .serverRecordChanged, .invalidArguments, .unknownItem, .zoneBusy,
            ]
            note("  \(error)")
            let code = (error as? CKError)?.code
            #expect(
                code.map(known.contains) == true || code == .internalError && isLying, comment("\(error)"))
            count("refused \(action)")
        }
    }
}
