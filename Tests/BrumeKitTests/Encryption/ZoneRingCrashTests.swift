import BrumeEncryption
import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeKit

/// What is left when a device ends while it makes, renews or takes a ring: each step on the disk and with the server
/// fails, before it had its effect and after, and what is done next has to succeed.
@Suite("A zone's ring after a crash")
struct ZoneRingCrashTests {
    /// Two devices with the account's keys, of which the first is about to do something.
    private final class World {
        let folder: TestFolder
        let desk = RingDesk()
        let phone: RingDevice
        let laptop: RingDevice
        /// Encrypted values that the server has, which no device may lose.
        var values: [(bytes: [UInt8], text: String)] = []

        init() throws {
            folder = try TestFolder()
            phone = RingDevice("phone", at: desk, stateFolder: folder.file("phone"))
            laptop = RingDevice("laptop", at: desk, stateFolder: folder.file("laptop"))
            let code = try #require(try phone.keys.code(.takeCode))
            try laptop.keys.run(.useCode(code))
            try phone.lookAtKeys()
            try laptop.lookAtKeys()
        }

        func save(_ text: String, by device: RingDevice) throws {
            values.append((try device.sealed(text), text))
        }

        func replaceKeys() throws {
            _ = try #require(try phone.keys.code(.replaceCode))
            try phone.lookAtKeys()
        }

        /// Every device opens every value, the one that was interrupted and one that comes later.
        func expectAllOpen(by devices: [RingDevice]) throws {
            for device in devices {
                device.restart()
                for (bytes, text) in values { #expect(try device.opened(bytes) == text) }
            }
        }
    }

    /// Breaks each step of `body` in each way, and calls `check` with the world as it is then. Returns how many times.
    private func eachFault(
        prepare: (World) throws -> Void, _ body: (World) throws -> Void, check: (World) throws -> Void
    ) throws -> Int {
        var broken = 0
        var step = 0
        while true {
            var wasReached = false
            for kind in Steps.Fault.allCases {
                let world = try World()
                try prepare(world)
                let first = world.desk.steps.count
                world.desk.steps.fault = (first + step, kind)
                do {
                    try body(world)
                } catch {
                    broken += 1
                }
                wasReached = world.desk.steps.count > first + step
                world.desk.steps.fault = nil
                if wasReached {
                    world.phone.restart()
                    try check(world)
                }
            }
            guard wasReached else { return broken }
            step += 1
        }
    }

    @Test("is made once, wherever the device that makes it was interrupted")
    func first() throws {
        let broken = try eachFault(prepare: { _ in }) { world in
            try world.save("first", by: world.phone)
        } check: { world in
            try world.save("phone", by: world.phone)
            try world.save("laptop", by: world.laptop)
            #expect(world.desk.entries.count == 1)
            try world.expectAllOpen(by: [world.phone, world.laptop])
        }
        #expect(broken > 8)
    }

    @Test("that another device makes meanwhile is the only one")
    func race() throws {
        let broken = try eachFault(prepare: { _ in }) { world in
            world.desk.isOvertakenBy = { try world.save("laptop", by: world.laptop) }
            try world.save("phone", by: world.phone)
        } check: { world in
            world.desk.isOvertakenBy = nil
            try world.save("again", by: world.phone)
            #expect(world.desk.entries.count == 1)
            try world.expectAllOpen(by: [world.phone, world.laptop])
        }
        #expect(broken > 8)
    }

    @Test("gets one new key, and what was encrypted with the old one stays readable")
    func rotation() throws {
        let broken = try eachFault { world in
            try world.save("before", by: world.phone)
            try world.save("before, too", by: world.laptop)
            try world.replaceKeys()
        } _: { world in
            try world.save("after", by: world.phone)
        } check: { world in
            try world.save("phone", by: world.phone)
            world.laptop.restart()
            try world.save("laptop", by: world.laptop)
            #expect(world.desk.entries.count == 2)
            try world.expectAllOpen(by: [world.phone, world.laptop])
        }
        #expect(broken > 4)
    }

    @Test("comes back to a restored server as it was")
    func givingBack() throws {
        var all: [SharedBytes] = []
        let broken = try eachFault { world in
            for number in 1...3 {
                if number > 1 { try world.replaceKeys() }
                try world.save("\(number)", by: world.phone)
            }
            all = world.desk.entries
            world.desk.entries = Array(all.prefix(2))
        } _: { world in
            try world.phone.run(.write, asksServer: true)
        } check: { world in
            try world.phone.run(.write, asksServer: true)
            let isGivenBack = world.desk.entries == all
            #expect(isGivenBack)
            world.laptop.restart()
            try world.save("laptop", by: world.laptop)
            try world.expectAllOpen(by: [world.phone, world.laptop])
        }
        #expect(broken > 4)
    }

    @Test("that ends what a restored server takes no more keeps the keys of it")
    func goingOn() throws {
        let broken = try eachFault { world in
            for number in 1...4 {
                if number > 1 { try world.replaceKeys() }
                try world.save("\(number)", by: world.phone)
            }
            world.desk.entries = Array(world.desk.entries.prefix(2))
        } _: { world in
            try world.phone.run(.write, asksServer: true)
        } check: { world in
            try world.phone.run(.write, asksServer: true)
            try world.save("phone", by: world.phone)
            #expect(world.desk.entries.count == 3)
            try world.expectAllOpen(by: [world.phone])
        }
        #expect(broken > 4)
    }

    @Test("of a zone that was made anew takes the place of the old one, wherever the device was interrupted")
    func newLife() throws {
        let broken = try eachFault { world in
            try world.save("old", by: world.phone)
            world.desk.entries = []
            world.values = []
        } _: { world in
            try world.phone.zoneWasDeleted()
            try world.save("new", by: world.phone)
        } check: { world in
            try world.phone.zoneWasDeleted()
            try world.save("phone", by: world.phone)
            try world.save("laptop", by: world.laptop)
            #expect(world.desk.entries.count == 1)
            try world.expectAllOpen(by: [world.phone, world.laptop])
        }
        #expect(broken > 8)
    }
}
