import Testing

@testable import BrumeEncryption

@Suite struct RecordCipherTests {
    private let record = Samples.cipher().record(named: "note", type: "Note")

    private func open(
        _ sealed: [UInt8], by cipher: TreeCipher = Samples.cipher(), record: String = "note", type: String = "Note",
        field: String = "text", valueType: String = "STRING"
    ) throws(EncryptionRefusal) -> [UInt8] {
        try cipher.record(named: record, type: type).open(sealed, field: field, valueType: valueType)
    }

    @Test("a value comes back as it was, whatever its length", arguments: [0, 1, 27, 28, 29, 60, 1020, 1021, 5000])
    func roundTrip(count: Int) throws {
        let value = Samples.file(count)
        let sealed = record.seal(value, field: "text", valueType: "STRING")
        #expect(try open(sealed) == value)
        #expect(UInt64(sealed.count) == 23 + 40 + Padding.padded(UInt64(4 + count)))
    }

    @Test("values of up to 28 bytes have one size")
    func sizes() {
        #expect(Set((0...28).map { record.seal(Samples.file($0), field: "a", valueType: "BYTES").count }) == [95])
    }

    @Test("a value opens in its place only: field, record, type, value's type, zone and the zone's life")
    func places() throws {
        let sealed = record.seal([1], field: "text", valueType: "STRING")
        #expect(refusal { try open(sealed, field: "title") } == .damaged)
        #expect(refusal { try open(sealed, record: "other") } == .damaged)
        #expect(refusal { try open(sealed, type: "Memo") } == .damaged)
        #expect(refusal { try open(sealed, valueType: "BYTES") } == .damaged)
        let place = Samples.place
        let others = try [
            ("c", place.environment, place.owner, place.zone, place.ringID),
            (place.container, "development", place.owner, place.zone, place.ringID),
            (place.container, place.environment, "_bob", place.zone, place.ringID),
            (place.container, place.environment, place.owner, "Lists", place.ringID),
            (place.container, place.environment, place.owner, place.zone, [UInt8](repeating: 8, count: 16)),
        ].map { try Place(container: $0.0, environment: $0.1, owner: $0.2, zone: $0.3, ringID: $0.4) }
        for other in others {
            let cipher = Samples.cipher(Samples.tree(in: other))
            #expect(refusal { try open(sealed, by: cipher) } == .wrongTree)
            // With the tree's id of that place in front, which a server can write there.
            let moved = cipher.header.bytes + sealed[ValueHeader.byteCount...]
            #expect(refusal { try open(moved, by: cipher) } == .damaged)
        }
    }

    @Test("names that are written one behind the other don't stand for each other")
    func boundaries() {
        let sealed = Samples.cipher().record(named: "ab", type: "c").seal([1], field: "d", valueType: "e")
        #expect(refusal { try open(sealed, record: "a", type: "bc", field: "d", valueType: "e") } == .damaged)
        #expect(refusal { try open(sealed, record: "ab", type: "cd", field: "", valueType: "e") } == .damaged)
    }

    @Test("a value says which key it wants, and another does not open it")
    func keys() throws {
        let sealed = record.seal([1], field: "text", valueType: "STRING")
        #expect(refusal { try open(sealed, by: Samples.cipher(number: 2)) } == .keyMissing)
        #expect(refusal { try open(sealed, by: Samples.cipher(ringKey: 2)) } == .damaged)
        #expect(refusal { try open(sealed, by: Samples.cipher(Samples.tree("x"))) } == .wrongTree)
        #expect(refusal { try open(sealed, by: Samples.cipher(Samples.tree(Tree.wholeZone))) } == .wrongTree)
        let shared = Samples.cipher(Samples.tree("list", .isShared))
        #expect(refusal { try open(sealed, by: shared) } == .wrongTree)
        #expect(shared.header.treeID == Samples.cipher().header.treeID, "a root that is shared keeps its tree")
        #expect(try ValueHeader(of: sealed) == Samples.cipher().header)
        // The kind and the number are authenticated too: with one key for both, what was written for one opens for no
        // other.
        for cipher in [shared, Samples.cipher(number: 2)] {
            #expect(refusal { try open(cipher.header.bytes + sealed[23...], by: cipher) } == .damaged)
        }
    }

    @Test("every flipped byte of a value is refused, and every cut")
    func damage() {
        let sealed = record.seal(Samples.file(40), field: "text", valueType: "STRING")
        var names: Set<EncryptionRefusal> = []
        for (index, other) in sealed.flipped.enumerated() {
            let refusal = refusal { try open(other) }
            #expect(refusal != nil, "byte \(index)")
            if let refusal { names.insert(refusal) }
            if index < 2 { #expect(refusal == .newer) }
            if index >= ValueHeader.byteCount { #expect(refusal == .damaged) }
        }
        #expect(names == [.newer, .wrongTree, .damaged, .keyMissing])
        for other in sealed.cutAndContinued { #expect(refusal { try open(other) } == .damaged) }
    }

    @Test("a padding that is not zeros, or too long, is refused though it was sealed with the key")
    func padding() {
        let cipher = Samples.cipher()
        var data = PartWriter(.field)
        data.write(bytes: cipher.header.bytes)
        data.write(Samples.place)
        for text in ["note", "Note", "text", "STRING"] { data.write(text: text) }
        func sealed(_ padded: [UInt8]) -> [UInt8] {
            Seal.seal(padded, data: data.bytes, key: cipher.fieldKey, behind: cipher.header.bytes)
        }
        let zeros = [UInt8](repeating: 0, count: 64)
        #expect(refusal { try open(sealed([1, 0, 0, 0, 9] + zeros.prefix(27))) } == nil)
        #expect(refusal { try open(sealed([1, 0, 0, 0, 9] + zeros.prefix(26) + [1])) } == .damaged)
        #expect(refusal { try open(sealed([1, 0, 0, 0, 9] + zeros.prefix(59))) } == .damaged)
        #expect(refusal { try open(sealed([1, 0, 0, 0, 9])) } == .damaged)
        #expect(refusal { try open(sealed([255, 255, 255, 255] + zeros.prefix(28))) } == .damaged)
        #expect(refusal { try open(sealed([0, 0])) } == .damaged)
    }

    @Test("a stamp holds for its record, type and parent, and for no other")
    func stamps() throws {
        let stamp = record.stamp(parent: "list")
        #expect(stamp.count == RecordCipher.stampBytes && RecordCipher.stampBytes == 63)
        try record.check(stamp: stamp, parent: "list")
        for parent in ["other", "", nil] {
            #expect(refusal { try record.check(stamp: stamp, parent: parent) } == .damaged)
        }
        let others = [
            Samples.cipher().record(named: "x", type: "Note"), Samples.cipher().record(named: "note", type: "x"),
        ]
        for other in others { #expect(refusal { try other.check(stamp: stamp, parent: "list") } == .damaged) }
        let elsewhere = Samples.cipher(Samples.tree("y")).record(named: "note", type: "Note")
        #expect(refusal { try elsewhere.check(stamp: stamp, parent: "list") } == .wrongTree)
        for damaged in stamp.flipped + stamp.cutAndContinued {
            #expect(refusal { try record.check(stamp: damaged, parent: "list") } != nil)
        }
        try record.check(stamp: record.stamp(parent: nil), parent: nil)
        #expect(refusal { try record.check(stamp: record.stamp(parent: nil), parent: "") } == .damaged)
    }

    @Test("a value passes for no stamp, and a stamp for no value")
    func kinds() {
        let value = record.seal([], field: "text", valueType: "STRING")
        #expect(refusal { try record.check(stamp: value, parent: nil) } == .damaged)
        #expect(refusal { try open(record.stamp(parent: nil)) } == .damaged)
    }
}
