internal import BrumeRandom
internal import BrumeServer
internal import BrumeStore

/// What goes wrong with the machine: crashes, flipped bits, a full disk.
extension SimulatedServer {
    /// A bit of a file that is not what was written.
    struct FlippedBit: CustomStringConvertible {
        let path: String
        let offset: Int
        let mask: UInt8
        /// Whether the bit matters: not in a file that nobody reads, nor after the journal's last whole batch.
        let hasMeaning: Bool

        var description: String { "byte \(offset) of \(path)" }
    }

    func planCrash() {
        let seconds = simulation.options.crashSeconds
        guard seconds > 0 else { return }
        let time = UInt64.random(in: 1...seconds * 2_000_000_000, using: &generator)
        // Sometimes already while it starts.
        if generator.oneIn(12), !simulation.isQuiet {
            disk.faults.powerCutCall = disk.calls + Int.random(in: 0...12, using: &generator)
        }
        after(time) { server in
            if server.simulation.isQuiet { return }
            let call = server.disk.calls + Int.random(in: 0...12, using: &server.generator)
            switch Int.random(in: 0...9, using: &server.generator) {
            case 0: server.end(nil)
            case 1: server.end(.nothing)
            case 2: server.end(.everything)
            case 3: server.end(.byChance)
            case 4: server.disk.faults.failingCall = call
            case 5: server.disk.faults.fullCall = call
            default: server.disk.faults.powerCutCall = call
            }
            // A fault that is armed strikes at a call that may be long in coming, or never come.
            if server.process != nil { server.planCrash() }
        }
    }

    // MARK: Flipped bits

    /// Flips a bit of some file while the server is down.
    func flipSomething() -> FlippedBit? {
        let oneIn = simulation.options.flipOneIn
        // A start reads neither the contents of assets nor what operators did.
        let paths = disk.paths.filter { !$0.hasPrefix("assets/") && !$0.hasPrefix("audit/") }
        guard oneIn > 0, generator.oneIn(oneIn), !paths.isEmpty else { return nil }
        let path = generator.pick(paths)
        let bytes = disk.contents(of: path)!
        guard !bytes.isEmpty else { return nil }
        // Nobody reads files that are half made, or former segments that wait to be used again.
        let isUnread = path.hasSuffix(".tmp") || path.hasSuffix(".spare")
        var meaning = 0..<bytes.count
        if isUnread {
            meaning = 0..<0
        } else if path == paths.last(where: { $0.hasSuffix(".journal") }) {
            meaning = 0..<JournalSight.lastWholeBatch(of: bytes).upperBound
        }
        // Most of a segment is zeros that nobody has written yet.
        let isAimed = !meaning.isEmpty && !generator.oneIn(4)
        let offset = Int.random(in: isAimed ? meaning : 0..<bytes.count, using: &generator)
        let flip = FlippedBit(
            path: path, offset: offset, mask: 1 << UInt8.random(in: 0..<8, using: &generator),
            hasMeaning: meaning.contains(offset))
        simulation.report.flipsInjected += 1
        if !flip.hasMeaning { simulation.report.flipsHarmless += 1 }
        disk.flip(flip.mask, at: flip.offset, of: flip.path)
        if simulation.options.brokenPromise == .repairsByCutting, flip.hasMeaning, path.hasPrefix("journal/") {
            repairByCutting(path, at: offset)
        }
        return flip
    }

    /// Takes a start's refusal of a folder with a flipped bit, which has to name the place; then the file is restored.
    func refused(_ flip: FlippedBit, _ error: StoreError) {
        simulation.trace.note("refused \(error)")
        switch error {
        case .damaged(let damage) where damage.file == flip.path && damage.offset <= UInt64(flip.offset):
            simulation.report.flipsDetected += 1
        case .unknownVersion(let file, _) where file == flip.path: simulation.report.flipsDetected += 1
        default: return simulation.violated("F4: \(flip) was changed, and a start says: \(error)")
        }
        // After a journal's last batch comes what a cut write left, or zeros: a flipped bit there may be refused, and
        // may be cut.
        if !flip.hasMeaning, !flip.path.hasSuffix(".journal") {
            return simulation.violated("F4: \(flip) means nothing, and a start refuses it: \(error)")
        }
        // Each flipped bit counts once.
        if !flip.hasMeaning { simulation.report.flipsHarmless -= 1 }
        disk.flipBack(at: flip.offset, of: flip.path)
        disk.endProcess()
        startLater()
    }

    /// Takes back a flipped bit of a start that the disk ended. The start may have read it and gone on: after the
    /// journal's last batch it cuts what it finds, and then may still fail, at the manifest for one. What it wrote over
    /// the bit has to stay, or the next start finds damage that the simulator did where everything was zero.
    func takeBack(_ flip: FlippedBit) {
        disk.flipBack(at: flip.offset, of: flip.path)
        simulation.report.flipsInjected -= 1
        if !flip.hasMeaning { simulation.report.flipsHarmless -= 1 }
    }

    /// Cuts the journal's segment at its damage, and removes the segments after it.
    private func repairByCutting(_ path: String, at offset: Int) {
        var bytes = disk.contents(of: path)!
        guard offset >= JournalSight.headerBytes else { return }
        let start = JournalSight.batch(of: bytes, around: offset)
        for index in start..<bytes.count { bytes[index] = 0 }
        disk.replace(path, with: bytes)
        for later in disk.paths where later.hasSuffix(".journal") && later > path { disk.replace(later, with: nil) }
    }

    // MARK: A full disk

    /// Fills the disk for a while, now and then.
    func planFullDisk() {
        let seconds = simulation.options.fullDiskSeconds
        guard seconds > 0 else { return }
        after(UInt64.random(in: 1...seconds * 2_000_000_000, using: &generator), ofAnyLife: true) { server in
            if server.simulation.isQuiet { return }
            let stretch = UInt64.random(in: 500_000_000...10_000_000_000, using: &server.generator)
            server.fullUntilNanoseconds = server.scheduler.nowNanoseconds + stretch
            server.fillDisk()
            server.after(stretch, ofAnyLife: true) { server in
                server.disk.faults.capacityBytes = nil
                server.planFullDisk()
            }
        }
    }

    /// Leaves room for only a little more.
    func fillDisk() {
        disk.faults.capacityBytes =
            disk.usedBytes + Int.random(in: 0...simulation.options.segmentBytes / 2, using: &generator)
    }

    /// Whether writes are refused.
    var isDiskFull: Bool { process?.isDiskFull == true }
}
