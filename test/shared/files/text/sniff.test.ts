import test from 'ava'
import {Refusal} from '../../../../shared/errors.ts'
import {scoreDelimiters} from '../../../../shared/files/csv/delimiter.ts'
import {CsvOptions, Reader, XlsxOptions} from '../../../../shared/files/reader.ts'
import {formatOf} from '../../../../shared/files/text/magic.ts'
import {resolveReader, sniffEncoding} from '../../../../shared/files/text/sniff.ts'
import {csvReader} from '../chunks.ts'

const german = 'Name;Größe\nJörg;1,80\n'

test('a byte order mark decides the encoding', t => {
  t.deepEqual(sniffEncoding(Buffer.from(`\ufeff${german}`)), {encoding: 'utf-8', how: 'byte order mark'})
  t.deepEqual(sniffEncoding(Buffer.from(`\ufeff${german}`, 'utf16le')), {encoding: 'utf-16le', how: 'byte order mark'})
  t.deepEqual(sniffEncoding(Buffer.from(`\ufeff${german}`, 'utf16le').swap16()), {encoding: 'utf-16be', how: 'byte order mark'})
})

test('UTF-16 without a mark is recognised by its zero bytes', t => {
  t.deepEqual(sniffEncoding(Buffer.from(german, 'utf16le')), {encoding: 'utf-16le', how: 'zero bytes'})
  t.deepEqual(sniffEncoding(Buffer.from(german, 'utf16le').swap16()), {encoding: 'utf-16be', how: 'zero bytes'})
  t.deepEqual(sniffEncoding(Buffer.from('a,b\n1,\u00002\n')), {encoding: 'utf-8', how: 'utf-8'})
})

test('without evidence in the first bytes a file is read as UTF-8', t => {
  for (const bytes of [Buffer.from(german), Buffer.from('a,b\n'), Buffer.from(german, 'latin1')])
    t.deepEqual(sniffEncoding(bytes), {encoding: 'utf-8', how: 'utf-8'})
})

test('the encoding is decided by setting, byte order mark, charset and template, in this order', t => {
  const named = {stated: 'SJIS', charset: 'latin1', kept: 'big5'}
  const plain = Buffer.from(german)
  t.deepEqual(sniffEncoding(Buffer.from(`\ufeff${german}`), named), {encoding: 'shift_jis', how: 'stated'})
  t.deepEqual(sniffEncoding(Buffer.from(`\ufeff${german}`), {...named, stated: undefined}), {encoding: 'utf-8', how: 'byte order mark'})
  t.deepEqual(sniffEncoding(plain, {...named, stated: undefined}), {encoding: 'windows-1252', how: 'content type'})
  t.deepEqual(sniffEncoding(plain, {kept: 'big5'}), {encoding: 'big5', how: 'template'})
  const big = Buffer.from(`\ufeff${german}`, 'utf16le').swap16()
  t.deepEqual(sniffEncoding(big, {stated: 'utf-16'}), {encoding: 'utf-16be', how: 'stated'}, 'the mark tells the byte order')
})

const cases: [title: string, text: string, delimiter: ReturnType<typeof scoreDelimiters>][] = [
  ['commas', 'a,b,c\n1,2,3\n4,5,6\n', ','],
  ['semicolons beside decimal commas', 'name;price;size\nx;1,5;2,0\ny;2,5;3,0\n', ';'],
  ['semicolons beside decimal commas, no header', '1,5;2,5\n3,5;4,5\n', ';'],
  ['tabs beside commas in prose', 'id\tnote\n1\tone, two, three\n2\tfour\n', '\t'],
  ['pipes', 'a|b\n1,2|3\n', '|'],
  ['commas inside quotes', 'a;b\n"x,y,z";1\n"p,q,r";2\n', ';'],
  ['line ends inside quotes', 'a,b\n"one\ntwo; three",2\n"x;y\nz",4\n', ','],
  ['doubled quotes', 'a,b\n"say ""hi, you""; now",2\n', ','],
  ['quotes inside a cell', 'size;b\n5" pipe;1\n6" pipe;2\n', ';'],
  ['carriage returns only', 'a;b\r1;2\r', ';'],
  ['a title above the header', 'Report\n\na;b;c\n1;2;3\n4;5;6\n', ';'],
  ['a single column', 'name\nAnna\nBoris\n', undefined],
  ['one line', 'a;b;c', ';'],
  ['numbers only', '1,2,3\n4,5,6\n', ','],
  ['ragged rows', 'a,b,c\n1,2\n3,4,5\n6,7,8\n', ','],
]

for (const [title, text, delimiter] of cases) {
  test(`the delimiter is found: ${title}`, t => {
    t.is(scoreDelimiters(text), delimiter)
  })
}

test('an incomplete record at the end of the sample is ignored', t => {
  t.is(scoreDelimiters('a;b\n1;2\nx, y, z', {cut: true}), ';')
})

test('a `sep=` line sets the delimiter and is skipped', t => {
  t.like(resolveReader(Buffer.from('sep=^\r\na^b,c\r\n1^2,3\r\n')), {
    reader: {delimiter: '^', skipRows: 1},
    sniffed: {delimiter: '^', delimiterHow: 'sep line', skipRows: 1},
  })
})

test('options set by the caller override detection', t => {
  const {reader, sniffed} = resolveReader(Buffer.from(german, 'latin1'), {encoding: 'ISO-8859-2', delimiter: ',', headerRow: false})
  t.like(reader, {format: 'csv', encoding: 'iso-8859-2', delimiter: ',', headerRow: false, quote: '"'})
  t.like(sniffed, {encoding: 'iso-8859-2', how: 'stated', delimiterHow: 'stated'})
})

test('the delimiter is detected in the text of the set encoding', t => {
  const {reader} = resolveReader(Buffer.from('a;b\n1;2\n', 'utf16le'), {encoding: 'utf-16le'})
  t.is(reader.delimiter, ';')
})

test('the first bytes distinguish a workbook from text, and other file types are refused by name', t => {
  t.is(formatOf(Buffer.from('PK\u0003\u0004....', 'latin1')), 'xlsx')
  t.is(formatOf(Buffer.from('name\nAnna\n')), 'csv')
  const old = '\u00d0\u00cf\u0011\u00e0\u00a1\u00b1\u001a\u00e1'
  for (const [start, name] of Object.entries({
    '%PDF-1.7': 'PDF',
    '\u001f\u008b\b': 'gzip',
    [old]: 'old Excel workbook',
    'MIME-Version: 1.0\r\nX-Document-Type: Workbook': 'MHTML',
  })) {
    const error = t.throws(() => formatOf(Buffer.from(`${start}....`, 'latin1')), {instanceOf: Refusal})
    t.is(error?.code, 'FILE_FORMAT')
    t.regex(error?.message ?? '', new RegExp(name))
  }
  const locked = Buffer.concat([Buffer.from(old, 'latin1'), Buffer.alloc(1000), Buffer.from('EncryptedPackage', 'utf16le')])
  t.is(t.throws(() => formatOf(locked), {instanceOf: Refusal})?.code, 'FILE_ENCRYPTED')
})

test('options that contradict the detection are refused as invalid', t => {
  const error = t.throws(() => resolveReader(Buffer.from('sep=;\na;b\n1;2\n'), {quote: ';'}), {instanceOf: Refusal})
  t.is(error?.code, 'INVALID')
})

test('a reader stored before workbooks existed is still read correctly', t => {
  const {format: _, shortRows, ...rest} = csvReader({delimiter: ';', quote: null})
  t.is(shortRows, 'refuse')
  t.deepEqual(Reader.parse({kind: 'csv', ...rest}), csvReader({delimiter: ';', quote: null}))
  t.false(Reader.safeParse({kind: 'pdf', ...rest}).success)
})

test('the options of a workbook are validated', t => {
  const accepts = (options: object) => XlsxOptions.safeParse(options).success
  for (const range of ['A1', 'B3:F', 'B:F', '$b$3:$f$20', null]) t.true(accepts({range}), `${range}`)
  for (const range of ['', '3:4', 'A1:B2:C3', 'Sheet!A1', 'ABCD1']) t.false(accepts({range}), range)
  t.false(accepts({encoding: 'utf-8'}))
})

test('reader options are validated', t => {
  const accepts = (options: object) => CsvOptions.safeParse(options).success
  t.true(accepts({}))
  t.deepEqual(CsvOptions.parse({}), {})
  t.false(accepts({encoding: 'klingon'}))
  t.false(accepts({delimiter: ';;'}))
  t.false(accepts({delimiter: '\n'}))
  t.false(accepts({skipRows: -1}))
  t.false(accepts({sheet: 'x'}))
})
