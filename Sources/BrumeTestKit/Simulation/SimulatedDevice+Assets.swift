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
        var known: [(request: DownloadRequest, asset: Asset)] = []
        for (zone, contents) in timeline.states.last?.zones ?? [:] {
            for (name, version) in contents.records {
                for (field, value) in version.fields {
                    for (index, asset) in value.assets.enumerated() {
                        let request = DownloadRequest(
                            database: .private, zone: ZoneID(name: zone), recordName: name, field: field,
                            listIndex: index, checksum: asset.checksum)
                        known.append((request, asset))
                    }
                }
            }
        }
        known.sort {
            ($0.request.zone.name, $0.request.recordName, $0.request.field, $0.request.listIndex)
                < ($1.request.zone.name, $1.request.recordName, $1.request.field, $1.request.listIndex)
        }
        guard let (request, asset) = known.randomElement(using: &generator) else { return }
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

    /// Assets that were uploaded for a zone, to be named by a save, encrypted or not; now and then one without its
    /// receipt, which the record has to name already.
    func addAssets(for zone: String, _ header: EncryptedHeader?, to fields: inout DecodedFields) {
        if generator.oneIn(2), let asset = randomAsset(for: zone) {
            let filler = generator.pick([1, 2] as [UInt8])
            fields["a"] =
                if let header, generator.oneIn(2) {
                    EncryptedSamples.asset(asset, header: header, filler: filler)
                } else {
                    .asset(asset)
                }
        }
        if let header, generator.oneIn(2) {
            let count = Int.random(in: 1...3, using: &generator)
            let assets = (0..<count).compactMap { _ in randomAsset(for: zone) }
            if !assets.isEmpty { fields["as"] = EncryptedSamples.assets(assets, header: header) }
        }
        for key in ["a", "as"] where generator.oneIn(12) { fields[key] = .some(nil) }
    }

    private func randomAsset(for zone: String) -> Asset? {
        guard let asset = uploadedAssets[zone]?.randomElement(using: &generator) else { return nil }
        return generator.oneIn(16) ? asset.withoutReceipt : asset
    }
}

extension OperationRequest {
    /// The saves as they are stored.
    static func withoutReceipts(_ save: RecordSave<DecodedFields>) -> RecordSave<DecodedFields> {
        var save = save
        save.fields = save.fields.mapValues { value in
            value.map { $0.naming($0.assets.map(\.withoutReceipt)) }
        }
        return save
    }

    /// The assets for which saves have receipts, by zone.
    static func receipts(of modifications: [ZoneModification<DecodedFields>]) -> [String: Set<Asset>] {
        var receipts: [String: Set<Asset>] = [:]
        for modification in modifications {
            let assets = modification.saves.flatMap { $0.fields.values.flatMap { $0?.assets ?? [] } }
            receipts[modification.zone.name] = Set(assets.filter { !$0.receipt.isEmpty }.map(\.withoutReceipt))
        }
        return receipts
    }
}

extension Asset {
    fileprivate var withoutReceipt: Asset {
        var asset = self
        asset.receipt = []
        return asset
    }
}
