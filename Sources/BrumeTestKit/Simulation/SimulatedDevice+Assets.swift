internal import BrumeKit
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom
internal import BrumeSystem

/// Uploads of assets, which saves name later, and downloads of what records name.
extension SimulatedDevice {
    /// A transfer that a device has under way.
    enum AssetTransfer {
        case upload(UploadRequest, content: [UInt8], sent: Int)
        case download(Asset, received: [UInt8])
    }

    /// Mostly small, sometimes more than the MiB from which on an upload is kept.
    private func randomContent() -> [UInt8] {
        let byteCount = generator.oneIn(8) ? 1_500_000 : Int.random(in: 0...90_000, using: &generator)
        let (number, other) = (UInt8.random(in: 0...255, using: &generator), generator.oneIn(3))
        // Some contents come again, from the same device and from others.
        let mask = other ? number : 7
        return [UInt8](unsafeUninitializedCapacity: byteCount) { bytes, count in
            for index in 0..<byteCount { bytes[index] = UInt8(truncatingIfNeeded: index / 251) ^ mask }
            count = byteCount
        }
    }

    func transferAsset() {
        if !assetTransfers.isEmpty { return }
        if generator.oneIn(3) { return downloadAsset() }
        let again = brokenUploads.randomElement(using: &generator)
        let content = again?.content ?? randomContent()
        guard let id = UploadID(newOperation()) else { return }
        let request =
            again?.request
            ?? UploadRequest(
                database: .private, zone: ZoneID(name: generator.pick(zoneNames + [Names.defaultZone])), id: id,
                byteCount: UInt64(content.count))
        brokenUploads.removeAll { $0.request.id == request.id }
        simulation.say("device \(number) uploads \(content.count) bytes for \(request.zone.name)")
        begin(
            .assetsUpload, coder.encodeUploadMessage(.begin(request)), .upload(request, content: content, sent: -1))
    }

    private func downloadAsset() {
        var known: [(zone: String, name: String, asset: Asset)] = []
        for (zone, contents) in timeline.states.last?.zones ?? [:] {
            for (name, version) in contents.records {
                if case .asset(let asset)? = version.fields["a"] { known.append((zone, name, asset)) }
            }
        }
        known.sort { ($0.zone, $0.name) < ($1.zone, $1.name) }
        guard let (zone, name, asset) = known.randomElement(using: &generator) else { return }
        let request = DownloadRequest(
            database: .private, zone: ZoneID(name: zone), recordName: name, field: "a", checksum: asset.checksum)
        begin(.assetsDownload, coder.encodeDownloadRequest(request), .download(asset, received: []))
    }

    // MARK: Streams

    func transferReceived(_ id: UInt64, _ payload: [UInt8]) {
        switch assetTransfers[id] {
        case .upload(let request, let content, _)?:
            switch try? payload.decoded(coder.decodeUploadEvent) {
            case .offset(let offset)?:
                guard offset <= content.count else {
                    return simulation.violated("A4: an upload goes on behind its end")
                }
                assetTransfers[id] = .upload(request, content: content, sent: Int(offset))
                goOn(id)
            case .asset(let asset)?:
                guard asset.checksum == AssetChecksum(SHA256.digest(content)) else {
                    return simulation.violated("A4: an upload became another content's asset")
                }
                simulation.report.assetsUploaded += 1
                uploadedAssets[request.zone.name, default: []].append(asset)
                assetTransfers[id] = nil
            case nil: simulation.violated("an event of an upload can't be read")
            }
        case .download(let asset, var received)?:
            switch try? payload.decoded(coder.decodeDownloadEvent) {
            case .byteCount(let count)?:
                if count != asset.byteCount {
                    simulation.violated("A3: an asset has another size than its record says")
                }
            case .content(let bytes)?:
                received += bytes.array
                assetTransfers[id] = .download(asset, received: received)
            case nil: simulation.violated("an event of a download can't be read")
            }
        case nil: break
        }
    }

    /// Sends what there is credit for.
    func goOn(_ id: UInt64) {
        while case .upload(let request, let content, let sent)? = assetTransfers[id], sent >= 0 {
            let next = min(sent + Limits.assetChunkBytes, content.count)
            let isEnd = sent == content.count
            let message: UploadMessage
            if isEnd {
                guard let checksum = AssetChecksum(SHA256.digest(content)) else { return }
                message = .end(checksum)
            } else {
                message = .content(Array(content[sent..<next]))
            }
            guard sendTransfer(id, coder.encodeUploadMessage(message)) else { return }
            // Nothing follows on the end.
            assetTransfers[id] = .upload(request, content: content, sent: isEnd ? -1 : next)
        }
    }

    func transferEnded(_ id: UInt64, _ error: ServiceError?) {
        guard let transfer = assetTransfers.removeValue(forKey: id) else { return }
        switch transfer {
        case .upload(let request, let content, _):
            if error == nil { return simulation.violated("A4: an upload ended without its asset") }
            if brokenUploads.count < 3 { brokenUploads.append((request, content)) }
        case .download(let asset, let received):
            guard let error else {
                simulation.report.assetsDownloaded += 1
                if AssetChecksum(SHA256.digest(received)) == asset.checksum { return }
                return simulation.violated("A3: a download gave another content")
            }
            if error.code == .assetNotAvailable, error.detail == .none {
                // The record may have gone since; if not, its asset has.
                simulation.report.assetsMissed += 1
            }
        }
    }

    /// An asset that was uploaded for a zone, to be named by a save.
    func randomAsset(for zone: String) -> Asset? { uploadedAssets[zone]?.randomElement(using: &generator) }
}

extension OperationRequest {
    /// The saves as they are stored.
    static func withoutReceipts(_ save: RecordSave<DecodedFields>) -> RecordSave<DecodedFields> {
        var save = save
        for case (let key, .asset(var asset)?) in save.fields {
            asset.receipt = []
            save.fields[key] = .asset(asset)
        }
        return save
    }
}
