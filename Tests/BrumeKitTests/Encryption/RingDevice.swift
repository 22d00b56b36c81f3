import BrumeEncryption
import BrumeModel

@testable import BrumeKit

/// A device of the desk's account that looks at the ring of the desk's zone.
///
/// `@unchecked Sendable`: one test has it.
final class RingDevice: @unchecked Sendable {
    typealias Machine = ZoneRingStateMachine

    let keys: KeysDevice
    private let desk: RingDesk
    private(set) var identity: Identity?
    /// What the app says of the assets of zones whose rings are made.
    var encryptsAssets = false

    var folder: KeyFolder { keys.folder }

    var ring: RingPlace { RingPlace(owner: desk.scope.account, zone: desk.zone) }

    /// - Parameter stateFolder: Where the device keeps its keys.
    init(_ name: String, at desk: RingDesk, stateFolder: String) {
        keys = KeysDevice(name, at: desk.statements, stateFolder: stateFolder)
        self.desk = desk
    }

    /// Looks at the ring, as a driver does.
    ///
    /// - Throws: ``ZoneRingFailure``, and what breaks.
    @discardableResult
    func run(_ goal: Machine.Goal, asksServer: Bool = false) throws -> KnownRing? {
        var asksServer = asksServer
        var hasNewestIdentity = false
        for _ in 0..<KeyLimits.attemptsMax {
            if identity == nil { try lookAtKeys(goal) }
            guard let identity else { return nil }
            let loaded = try loaded()
            let machine = Machine(
                Machine.Start(
                    goal: goal, place: ring, kept: loaded.kept, identity: identity, asksServer: asksServer,
                    hasNewestIdentity: hasNewestIdentity, encryptsAssets: encryptsAssets))
            switch try run(machine, over: loaded.head) {
            case .ring(let ring): return ring
            case .needsNewZoneKey: preconditionFailure("the zone's own ring needs no other one")
            case .again:
                self.identity = nil
                asksServer = true
                hasNewestIdentity = true
            case .failed(let failure): throw failure
            case nil: break
            }
        }
        throw ZoneRingFailure.busy
    }

    /// Nil: another process wrote to the file.
    private func run(_ started: Machine, over head: [UInt8]?) throws -> Machine.Outcome? {
        var (machine, head) = (started, head)
        var action = machine.started()
        while true {
            switch action {
            case .fetch(let number): action = machine.pageCame(try desk.fetch(after: number))
            case .meet(let users, _): action = machine.met([], strangers: Set(users))
            case .join: preconditionFailure("the owner of a ring asks to be taken in")
            case .append(let entry, _):
                let isTaken = try desk.append(entry)
                action = isTaken ? machine.appended() : machine.appendRefused()
            case .keep(let kept):
                guard case .done(let written) = try folder.writeRing(kept, at: ring, over: head) else {
                    throw Steps.Broken()
                }
                guard let written else { return nil }
                head = written
                action = machine.hasKept()
            case .finish(let outcome): return outcome
            }
        }
    }

    /// Looks at the account's keys, and makes them for a save.
    func lookAtKeys(_ goal: Machine.Goal = .read) throws {
        let isForReading = if case .read = goal { true } else { false }
        guard case .available(let identity) = try keys.run(isForReading ? .look : .identity).standing else {
            identity = nil
            return
        }
        self.identity = identity
    }

    /// As after a restart: nothing is known but what is on the disk.
    func restart() { identity = nil }

    func loaded() throws -> KeyFolder.LoadedRing {
        guard case .done(let loaded) = try folder.loadRing(at: ring) else { throw Steps.Broken() }
        return loaded
    }

    func kept() throws -> KeptRing { try loaded().kept }

    /// Remembers that the zone was deleted.
    func zoneWasDeleted() throws {
        let loaded = try loaded()
        var kept = loaded.kept
        kept.isOver = true
        _ = try folder.writeRing(kept, at: ring, over: loaded.head)
    }

    func failure(_ goal: Machine.Goal, asksServer: Bool = true) throws -> ZoneRingFailure? {
        do {
            try run(goal, asksServer: asksServer)
            return nil
        } catch let failure as ZoneRingFailure {
            return failure
        }
    }

    // MARK: Values

    /// The keys of a ring, as this device has them.
    func zoneKeys(_ goal: Machine.Goal, asksServer: Bool = false) throws -> RingKeys? {
        guard let ring = try run(goal, asksServer: asksServer), let identity else { return nil }
        return RingKeys(ring, of: identity)
    }

    /// An encrypted value, as a save sends it.
    func sealed(_ text: String) throws -> [UInt8] {
        guard let keys = try zoneKeys(.write), keys.isForWriting, let cipher = keys.cipher(root: "page") else {
            throw Steps.Broken()
        }
        return cipher.record(named: "page", type: "Page").seal(Array(text.utf8), field: "text", valueType: "STRING")
    }

    /// The text of an encrypted value; nil where this device can't open it.
    func opened(_ value: [UInt8]) throws -> String? {
        let header = try ValueHeader(of: value)
        for asksServer in [false, true] {
            guard let keys = try zoneKeys(.read, asksServer: asksServer) else { continue }
            for cipher in keys.ciphers(header) {
                let record = cipher.record(named: "page", type: "Page")
                if let bytes = try? record.open(value, field: "text", valueType: "STRING") {
                    return String(decoding: bytes, as: UTF8.self)
                }
            }
        }
        return nil
    }
}
