internal import BrumeSystem

/// The rings of zones in a key folder.
extension KeyFolder {
    /// A ring's file as it was read.
    struct LoadedRing: Sendable {
        var kept = KeptRing()
        /// The file's head, which has the checksum of what is in it; nil where there is none.
        var head: [UInt8]?
    }

    /// Reads what is kept of a ring. Makes nothing where there is no folder.
    func loadRing(at ring: RingPlace) throws(KeyFolderProblem) -> Attempt<LoadedRing> {
        guard FileSystem.exists(ringPath(ring)) else { return .done(LoadedRing()) }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try disk.read(ringPath(ring), bytesLimit: KeyLimits.ringFileBytesMax)
        } catch {
            throw KeyFolderProblem("\(ringPath(ring)) can't be read (\(error)); make it readable")
        }
        guard let bytes else { return .done(LoadedRing()) }
        do throws(KeyFile.Refusal) {
            let head = Array(bytes.prefix(KeyFile.headBytes))
            return .done(LoadedRing(kept: try RingFile.decode(bytes, ring: ring, place: place), head: head))
        } catch {
            switch error {
            case .newer:
                throw KeyFolderProblem("\(ringPath(ring)) was written by a newer version of Brume; update this app")
            case .damaged:
                throw KeyFolderProblem(
                    "\(ringPath(ring)) is damaged; put it back from a backup, or remove it: then this device knows no "
                        + "more of the zone's keys than the server shows")
            }
        }
    }

    /// Keeps a ring in the place of what was read.
    ///
    /// - Returns: The new head; nil where another process has written meanwhile, and nothing was changed.
    func writeRing(
        _ kept: KeptRing, at ring: RingPlace, over head: [UInt8]?
    ) throws(KeyFolderProblem) -> Attempt<[UInt8]?> {
        let path = ringPath(ring)
        do throws(SystemError) {
            try makeFolder()
            try disk.makeFolders([FileSystem.directory(of: path)])
        } catch {
            throw cannotWrite(error)
        }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        do throws(SystemError) {
            guard try disk.readHead(path, byteCount: KeyFile.headBytes) == head else { return .done(nil) }
            let bytes = RingFile.encode(kept, ring: ring, place: place).bytes
            try disk.replace(path, bytes)
            return .done(Array(bytes.prefix(KeyFile.headBytes)))
        } catch {
            throw cannotWrite(error)
        }
    }

    private func ringPath(_ ring: RingPlace) -> String { "\(path)/\(RingFile.path(ring, place: place))" }
}
