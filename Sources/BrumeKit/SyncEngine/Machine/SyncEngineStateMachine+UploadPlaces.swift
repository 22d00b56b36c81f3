/// How many files are uploaded at a time, and whose turn it is.
extension SyncEngineStateMachine {
    /// Files that are uploaded at a time: their streams take turns, and the app's own transfers want some too.
    static let filesMax = 4

    /// Files of one record at a time, and of all large records together: so small files don't wait for films.
    static let filesPerRecordMax = 3

    /// A record with more bytes of files than that is large.
    static let smallFilesBytesMax = 16 * 1024 * 1024

    mutating func beginUploads() {
        // Files are a user's, and who is signed in may be another one by now.
        if isAccountCheckWanted { return }
        while let (id, places) = takeNextUpload() {
            guard var upload = uploads[id] else { preconditionFailure("an upload begins that nobody waits for") }
            upload.progress = .underWay
            upload.places = places
            uploads[id] = upload
            runningUploads[upload.id] = id
            actions.append(.upload(id: upload.id, zoneID: upload.zoneID, upload.files, atATime: places))
        }
    }

    /// The first record for whose files there is room, and for how many at a time: all that is free is better than to
    /// wait for more. None is overtaken by later ones, except large ones by small ones while other large ones are
    /// uploaded.
    private mutating func takeNextUpload() -> (id: CKRecord.ID, places: Int)? {
        waitingUploads.removeAll { id in
            guard case .waiting? = uploads[id]?.progress else { return true }
            return false
        }
        let running = runningUploads.values.compactMap { uploads[$0] }
        let places = running.reduce(0) { $0 + $1.places }
        let largePlaces = running.reduce(0) { $0 + ($1.isLarge ? $1.places : 0) }
        guard places < Self.filesMax else { return nil }
        for (index, id) in waitingUploads.enumerated() {
            guard let upload = uploads[id] else { continue }
            let free = min(Self.filesMax - places, Self.filesPerRecordMax - (upload.isLarge ? largePlaces : 0))
            if free <= 0 { continue }
            waitingUploads.remove(at: index)
            return (id, min(upload.files.count, free))
        }
        return nil
    }
}
