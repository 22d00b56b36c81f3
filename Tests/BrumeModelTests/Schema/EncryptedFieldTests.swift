import BrumeModel
import Testing

@Suite("Encrypted fields in a schema") struct EncryptedFieldTests {
    /// Those of encrypted fields.
    private static let encryptedKinds = FieldKind.allCases.filter { $0.isEncrypted && !$0.namesAssets }

    @Test("each kind that may be encrypted has an encrypted one, 32 further, and no other has") func kinds() {
        #expect(Self.encryptedKinds.count == 13)
        for kind in FieldKind.allCases where !kind.isEncrypted {
            switch kind {
            case .reference, .references: #expect(kind.encrypted == nil)
            default:
                #expect(kind.encrypted?.rawValue == kind.rawValue + 32)
                #expect(kind.encrypted?.decrypted == kind)
            }
            #expect(kind.decrypted == nil)
        }
        for kind in FieldKind.allCases where kind.isEncrypted { #expect(kind.encrypted == nil) }
        #expect(FieldKind.allCases.filter { $0.isEncrypted && $0.namesAssets } == [.encryptedAsset, .encryptedAssets])
        for kind in FieldKind.allCases {
            #expect(kind.fitsEncryptedField == (kind.encrypted.map(Self.encryptedKinds.contains) ?? false))
        }
    }

    @Test("the text of a value's type names it again") func typeTexts() {
        for kind in FieldKind.allCases where kind.fitsEncryptedField {
            let value = EncryptedValue(kind, [1])
            #expect(EncryptedValue(plainTypeText: value.plainTypeText, [1]) == value)
            #expect(EncryptedValue(plainTypeText: value.plainTypeText, [1], assets: [Self.photo]) == nil)
        }
        for text in ["", "REFERENCE", "string", "ENCRYPTED STRING", "ENCRYPTED ASSET"] {
            #expect(EncryptedValue(plainTypeText: text, [1]) == nil)
        }
    }

    private static let photo = Asset(
        checksum: AssetChecksum([UInt8](repeating: 1, count: AssetChecksum.byteCount))!, byteCount: 136, generation: 7)

    @Test("an encrypted asset names one, an encrypted list one at least, and each keeps its kind with other copies")
    func assets() {
        let copy = Asset(checksum: Self.photo.checksum, byteCount: 136, generation: 8)
        for count in 0...3 {
            let (assets, copies) = (
                [Asset](repeating: Self.photo, count: count), [Asset](repeating: copy, count: count)
            )
            let single = EncryptedValue(plainTypeText: "ASSET", [1], assets: assets)
            let list = EncryptedValue(plainTypeText: "LIST<ASSET>", [1], assets: assets)
            #expect((single != nil) == (count == 1) && (list != nil) == (count > 0))
            for value in [single, list].compactMap(\.self) {
                #expect(EncryptedValue(plainTypeText: value.plainTypeText, [1], assets: assets) == value)
                let field = FieldValue.encrypted(value)
                #expect(field.assets == assets)
                #expect(field.naming(copies) == .encrypted(EncryptedValue(value.kind, [1], assets: copies)))
            }
        }
        #expect(FieldValue.asset(Self.photo).naming([copy]) == .asset(copy))
        #expect(FieldValue.assets([Self.photo]).naming([copy]) == .assets([copy]))
    }

    @Test("a field for assets takes them plain and encrypted, and development learns no other type of these")
    func assetFields() throws {
        var lesson = SchemaLesson()
        let kinds: [String: FieldKind] = ["one": .encryptedAsset, "many": .encryptedAssets]
        #expect(SchemaSavingTests.check(Schema(), "Note", kinds, lesson: &lesson) == .teaches)
        let schema = try Schema().learning(lesson, isStrict: false)
        #expect(schema.recordTypes["Note"]?.field("one")?.type.text == "ASSET")
        #expect(schema.recordTypes["Note"]?.field("many")?.type.text == "LIST<ASSET>")
        let accepted: [String: Set<FieldKind>] = [
            "one": [.asset, .encryptedAsset], "many": [.assets, .encryptedAssets, .emptyList],
        ]
        for (field, accepted) in accepted {
            for kind in FieldKind.allCases {
                let verdict = SchemaSavingTests.check(schema, "Note", [field: kind], lesson: &lesson)
                #expect((verdict == .fits) == accepted.contains(kind), "\(field) \(kind)")
            }
        }
        #expect(throws: SchemaSyntaxError.self) {
            try SchemaParser.parse("DEFINE SCHEMA RECORD TYPE Note (one ENCRYPTED ASSET);")
        }
    }

    @Test("development learns ENCRYPTED types, without indexes; an empty list teaches none") func learning() throws {
        var lesson = SchemaLesson()
        let kinds = Dictionary(uniqueKeysWithValues: Self.encryptedKinds.map { ("f\($0.rawValue)", $0) })
        #expect(SchemaSavingTests.check(Schema(), "Note", kinds, lesson: &lesson) == .teaches)
        let schema = try Schema().learning(lesson, isStrict: false)
        let note = try #require(schema.recordTypes["Note"])
        #expect(note.fields.count == 12)
        #expect(note.field("f33")?.type.text == "ENCRYPTED STRING")
        #expect(note.field("f37")?.type.text == "ENCRYPTED TIMESTAMP")
        #expect(note.field("f45")?.type.text == "LIST<ENCRYPTED LOCATION>")
        #expect(note.fields.allSatisfy { $0.options == [] && $0.type.isEncrypted })
        let printed = SchemaPrinter.text(schema)
        #expect(try SchemaParser.parse(printed) == schema)
        var nothing = SchemaLesson()
        #expect(SchemaSavingTests.check(schema, "Note", kinds, lesson: &nothing) == .fits)
    }

    private static let text = """
        RECORD TYPE Note (secret ENCRYPTED STRING, secrets LIST<ENCRYPTED INT64>, title STRING, list LIST<INT64>);
        """

    @Test(
        "an encrypted field takes encrypted values of its type alone, and a plain one none", arguments: [true, false])
    func accepted(learns: Bool) throws {
        let schema = try SchemaSavingTests.schema(Self.text)
        let place = learns ? SchemaSavingTests.development : SchemaSavingTests.production
        var lesson = SchemaLesson()
        let accepted: [String: Set<FieldKind>] = [
            "secret": [.encryptedString], "secrets": [.encryptedInt64s, .encryptedEmptyList], "title": [.string],
            "list": [.int64s, .emptyList],
        ]
        for (field, kinds) in accepted {
            for kind in FieldKind.allCases {
                let verdict = SchemaSavingTests.check(schema, "Note", [field: kind], in: place, lesson: &lesson)
                if kinds.contains(kind) {
                    #expect(verdict == .fits, "\(field) \(kind)")
                    continue
                }
                guard case .refused(let error) = verdict else {
                    Issue.record("\(field) took \(kind)")
                    continue
                }
                #expect(error.code == .invalidArguments)
                let isSecret = field.hasPrefix("secret")
                if isSecret != kind.isEncrypted, !kind.namesAssets {
                    #expect(error.message.contains(isSecret ? "is encrypted; set it" : "is not encrypted; set it"))
                }
            }
        }
        #expect(lesson.isEmpty)
    }

    @Test("a public database takes no encrypted value, and learns none", arguments: [true, false])
    func publicDatabase(isKnown: Bool) throws {
        let schema = isKnown ? try SchemaSavingTests.schema(Self.text) : Schema()
        for kind in FieldKind.allCases where kind.isEncrypted {
            var checker = SaveChecker(schema, in: SchemaSavingTests.development, scope: .public)
            let verdict = checker.check(type: "Note") { visit in
                if "a".withUTF8Bytes({ visit($0, .string) }) { _ = "secret".withUTF8Bytes { visit($0, kind) } }
            }
            guard case .refused(let error) = verdict else {
                Issue.record("\(kind) was taken")
                continue
            }
            #expect(error.code == .invalidArguments && error.message.contains("'secret'"))
        }
    }

    @Test("a share takes no encrypted value, and learns none", arguments: [true, false])
    func share(isKnown: Bool) throws {
        let text = Self.text.replacing("RECORD TYPE Note", with: "RECORD TYPE \"cloudkit.share\"")
        let schema = isKnown ? try SchemaSavingTests.schema(text) : Schema()
        for kind in FieldKind.allCases where kind.isEncrypted {
            var checker = SaveChecker(schema, in: SchemaSavingTests.development)
            let verdict = checker.check(type: Names.shareType) { visit in
                if "a".withUTF8Bytes({ visit($0, .string) }) { _ = "secret".withUTF8Bytes { visit($0, kind) } }
            }
            guard case .refused(let error) = verdict else {
                Issue.record("\(kind) was taken")
                continue
            }
            #expect(error.code == .invalidArguments && error.message.contains("root record"))
        }
    }

    @Test("a field is never made encrypted, nor plain, by a new schema") func evolution() throws {
        let plain = SchemaFieldType(.string)
        #expect(!plain.isSame(as: SchemaFieldType(.string, isEncrypted: true)))
        let former = try SchemaSavingTests.schema(Self.text)
        let newer = try SchemaSavingTests.schema(
            Self.text.replacing("title STRING", with: "title ENCRYPTED STRING"))
        #expect(throws: ServiceError.self) { try former.deploying(newer) }
        #expect(throws: ServiceError.self) { try newer.deploying(former) }
        #expect(newer.problems(following: former).count == 1)
    }

    @Test("no predicate compares, sorts or searches an encrypted field", arguments: [true, false])
    func queries(learns: Bool) throws {
        let schema = try SchemaSavingTests.schema(Self.text)
        let place = learns ? SchemaSavingTests.development : SchemaSavingTests.production
        let predicates: [Predicate] = [
            .comparison(.field("secret"), .equal, .string("x")),
            .comparison(.field("secret"), .beginsWith, .string("x")),
            .isIn(.field("secret"), [.string("x")]), .between(.field("secret"), .string("a"), .string("b")),
            .anyElement(.field("secrets"), .equal, .int64(1)), .anyElementIsIn(.field("secrets"), [.int64(1)]),
            .comparison(.field("secrets"), .equal, .emptyList),
            .distance(.field("secret"), latitude: 0, longitude: 0, metres: 1, isInclusive: true),
        ]
        for predicate in predicates {
            for predicate in [predicate, .not(.and([.or([predicate])]))] {
                let problem = schema.problem(with: predicate, type: "Note", in: place)
                #expect(problem?.code == .invalidArguments)
                #expect(problem?.message.contains("encrypted") == true)
            }
        }
        let sorted = Query(
            recordType: "Note",
            predicate: .comparison(.parent, .equal, .reference(.init(recordName: "p", deletesSelf: false))),
            sortDescriptors: [QuerySort(key: .field("secret"))])
        #expect(schema.problem(with: sorted, in: place)?.message.contains("encrypted") == true)
        #expect(schema.problem(with: .text("x", .anyWord), type: "Note", in: place) != nil, "no field is searchable")
    }
}
