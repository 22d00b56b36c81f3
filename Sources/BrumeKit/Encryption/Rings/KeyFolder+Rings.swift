internal import BrumeSystem

/// The rings of zones in a key folder.
extension KeyFolder {
    /// A ring's file as it was read.
    struct LoadedRing: Sendable {
        var kept = KeptRing()
        /// The file's head, which has the checksum of what is in it; nil where there is none.
        var head: [UInt8]?
    }

    /// Reads what is kept of a zone's ring. Makes nothing where there is no folder.
    func loadRing(zone: String) throws(KeyFolderProblem) -> Attempt<LoadedRing> {
        guard FileSystem.exists(ringPath(zone)) else { return .done(LoadedRing()) }
        guard let lock = try takeLock() else { return .locked }
        defer { lock.release() }
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try disk.read(ringPath(zone), bytesLimit: KeyLimits.ringFileBytesMax)
        } catch {
            throw KeyFolderProblem("\(ringPath(zone)) can't be read (\(error)); make it readable")
        }
        guard let bytes else { return .done(LoadedRing()) }
        do throws(KeyFile.Refusal) {
            let head = Array(bytes.prefix(KeyFile.headBytes))
            return .done(LoadedRing(kept: try RingFile.decode(bytes, zone: zone, place: place), head: head))
        } catch {
            switch error {
            case .newer:
                throw KeyFolderProblem("\(ringPath(zone)) was written by a newer version of Brume; update this app")
            case .damaged:
                throw KeyFolderProblem(
                    "\(ringPath(zone)) is damaged; put it back from a backup, or remove it: then this device knows no "
                        + "more of the zone's keys than the server shows")
            }
        }
    }

    /// Keeps a zone's ring in the place of what was read.
    ///
    /// - Returns: The new head; nil where another process has written meanwhile, and nothing was changed.
    func writeRing(
        _ kept: KeptRing, zone: String, over head: [UInt8]?
    ) throws(KeyFolderProblem) -> Attempt<[UInt8]?> {
        let path = ringPath(zone)
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
            let bytes = RingFile.encode(kept, zone: zone, place: place).bytes
            try disk.replace(path, bytes)
            return .done(Array(bytes.prefix(KeyFile.headBytes)))
        } catch {
            throw cannotWrite(error)
        }
    }

    private func ringPath(_ zone: String) -> String { "\(path)/\(RingFile.path(zone: zone, place: place))" }
}
