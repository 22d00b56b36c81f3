import BrumeEncryption
import BrumeModel
import BrumeRandom
import BrumeTestKit
import Foundation
import Testing

@testable import BrumeKit

/// Three devices of an account do what comes, are cut off in the midst of it, overtake each other, and have a server
/// that is restored from backups now and then.
@Suite("Keys of several devices, under a seed")
struct AccountKeysWorldTests {
    private typealias Goal = AccountKeysStateMachine.Goal

    /// `BRUME_KEYS_SEEDS=N` runs so many, `BRUME_KEYS_SEED=S` that one alone.
    private static let seeds: [UInt64] = {
        let variables = ProcessInfo.processInfo.environment
        if let seed = variables["BRUME_KEYS_SEED"].flatMap(UInt64.init) { return [seed] }
        return Array(1...(variables["BRUME_KEYS_SEEDS"].flatMap(UInt64.init) ?? 40))
    }()

    @Test("never go back behind what a device knew, fit the server's, and come together in the end", arguments: seeds)
    func world(seed: UInt64) throws {
        try SeededRandomness.testOnly_use(seed: seed) {
            let world = try World(seed: seed)
            do {
                for _ in 0..<40 { try world.step() }
                try world.comeTogether()
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            #expect(world.problems.isEmpty, "seed \(seed)")
        }
    }

    private final class World {
        private let folder: TestFolder
        private let desk = StatementDesk()
        private let devices: [KeysDevice]
        private var generator: SeededGenerator
        /// Codes that were handed out, the newest last.
        private var codes: [RecoveryCode] = []
        /// What the server had at some times.
        private var backups: [[SharedBytes]] = [[]]
        private(set) var problems: [String] = []

        init(seed: UInt64) throws {
            let (folder, desk) = (try TestFolder(), desk)
            self.folder = folder
            devices = ["phone", "laptop", "tablet"].map {
                KeysDevice($0, at: desk, stateFolder: folder.file($0))
            }
            generator = SeededGenerator(seed: seed)
        }

        private func goal() throws -> Goal {
            switch Int.random(in: 0..<16, using: &generator) {
            case 0...3: return .identity
            case 4...5: return .takeCode
            case 6...9: return .useCode(codes.randomElement(using: &generator) ?? RecoveryCode())
            case 10: return .useCode(codes.last ?? RecoveryCode())
            case 11: return .replaceCode
            case 12...13:
                let keys = try devices.randomElement(using: &generator)!.ownKeys
                return .removeDevice(keys ?? KeyPairs(seed: .random()).publicKeys)
            case 14: return generator.oneIn(2) ? .beginAnew : .look
            default: return .look
            }
        }

        func step() throws {
            if generator.oneIn(6) { backups.append(desk.statements) }
            if generator.oneIn(12) { desk.statements = backups.randomElement(using: &generator)! }
            if generator.oneIn(5) { return try enrol() }
            let device = devices.randomElement(using: &generator)!
            let goal = try goal()
            try breakSomething(beside: device)
            try run(goal, on: device)
            (desk.steps.fault, desk.isOvertakenBy) = (nil, nil)
        }

        /// A step fails in what a device does next, or another device is faster; mostly neither.
        private func breakSomething(beside device: KeysDevice) throws {
            if generator.oneIn(3) {
                let step = desk.steps.count + Int.random(in: 0..<9, using: &generator)
                desk.steps.fault = (step, Steps.Fault.allCases.randomElement(using: &generator)!)
            } else if generator.oneIn(4) {
                let (other, otherGoal) = (devices.first { $0.name != device.name }!, try self.goal())
                desk.isOvertakenBy = { try self.run(otherGoal, on: other) }
            }
        }

        /// One device lets another in, and either is cut off, or overtaken by a third one.
        private func enrol() throws {
            let order = devices.shuffled(using: &generator)
            guard let dialogue = try? EnrolmentDialogue(of: desk, by: order[0]) else { return }
            try breakSomething(beside: order[0])
            try run(dialogue.adding, on: order[0])
            (desk.steps.fault, desk.isOvertakenBy) = (nil, nil)
            guard let taking = try? dialogue.taking(from: order[0]) else { return }
            if generator.oneIn(4) { try run(goal(), on: order[2]) }
            try breakSomething(beside: order[1])
            try run(taking, on: order[1])
            (desk.steps.fault, desk.isOvertakenBy) = (nil, nil)
        }

        private func run(_ goal: Goal, on device: KeysDevice) throws {
            let before = try device.kept().kept
            let mayBreak = desk.steps.fault != nil
            let mayBeOvertaken = desk.isOvertakenBy != nil
            do {
                let end = try device.run(goal)
                if case .code(let code) = end.outcome { handedOut(code, mayBeOvertaken) }
                if case .available(let identity) = end.standing { try fits(identity, device) }
            } catch {
                guard mayBreak else { throw error }
            }
            try keepsPin(device, before, goal)
        }

        private func handedOut(_ code: RecoveryCode, _ mayBeOvertaken: Bool) {
            codes.append(code)
            // Nobody writes between the last answer and the end of an operation.
            let isCurrent = (try? desk.last?.codeKey) == code.paperKey(desk.scope).publicKey
            if !isCurrent { problems.append("a code was handed out that opens nothing") }
        }

        /// What a device takes for the account's identity is what the server has, and lists the device.
        private func fits(_ identity: Identity, _ device: KeysDevice) throws {
            let last = try desk.last
            let own = try device.ownKeys
            if identity.statement.hash != last?.hash { problems.append("\(device.name) has another last statement") }
            if identity.keys.publicKeys != last?.keys { problems.append("\(device.name) has another identity") }
            if last?.devices.contains(where: { $0.keys == own }) != true {
                problems.append("\(device.name) has keys and is not listed")
            }
        }

        /// A device's statements only grow, but where a person decided for others.
        private func keepsPin(_ device: KeysDevice, _ before: KeptKeys, _ goal: Goal) throws {
            let after = try device.kept().kept
            if before.pending?.replacedHash.isEmpty == false { return }
            switch goal {
            case .useCode, .beginAnew: return
            case .takeKeys where !isTold(after.known, behind: before.known): return checkBranch(before, after, device)
            default: break
            }
            guard let known = before.known else { return }
            let begins = after.known.map { Array($0.signed.prefix(known.signed.count)) == known.signed } ?? false
            if !begins { problems.append("\(device.name) went back behind statement \(known.chain.last.number)") }
            // Each time that a device is let in it has other keys.
            if case .takeKeys = goal { return }
            if let keys = before.device?.publicKeys, after.device?.publicKeys != keys,
                before.pending?.device == nil
            {
                problems.append("\(device.name) changed its keys")
            }
        }

        /// Whether a device knows no more than it did, or what follows.
        private func isTold(_ after: KnownStatements?, behind before: KnownStatements?) -> Bool {
            guard let before else { return true }
            return after.map { Array($0.signed.prefix(before.signed.count)) == before.signed } ?? false
        }

        /// A device that was let in on another branch than it knew gave up nothing that kept anybody out.
        private func checkBranch(_ before: KeptKeys, _ after: KeptKeys, _ device: KeysDevice) {
            guard let known = before.known?.signed, let branch = after.known?.signed,
                known.first?.statement.hash == branch.first?.statement.hash
            else { return }
            let common = zip(known, branch).prefix { $0.statement.hash == $1.statement.hash }.count
            let keys = Set(known[(common - 1)...].map(\.statement.keys))
            if keys.count != 1 { problems.append("\(device.name) gave up keys that kept somebody out") }
            if after.known?.trust != .compared { problems.append("\(device.name) follows a branch without a person") }
        }

        /// Without faults one device makes a new code, with which all get the same identity.
        func comeTogether() throws {
            let first = devices.randomElement(using: &generator)!
            var code: RecoveryCode?
            for goal in [Goal.replaceCode, .beginAnew, .beginAnew] where code == nil { code = try first.code(goal) }
            let newest = try #require(code)
            for device in devices { try device.run(.useCode(newest)) }
            let keys = try #require(try first.identityKeys())
            for device in devices where try device.identityKeys() != keys {
                problems.append("\(device.name) does not come back")
            }
        }
    }
}
