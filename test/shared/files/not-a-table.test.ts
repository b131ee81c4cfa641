import test from 'ava'
import {Refusal} from '../../../shared/errors.ts'
import {assertTable} from '../../../shared/files/assert-table.ts'
import {sampleBytes} from '../../../shared/files/text/sniff.ts'

const codeOf = (content: string | Uint8Array, contentType?: string) => {
  try {
    assertTable(Buffer.from(content as string).subarray(0, sampleBytes), contentType)
    return null
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return `${error.code} ${/is (.*?),/.exec(error.message)?.[1]}`
  }
}

const html = 'NOT_A_TABLE an HTML page'
const xml = 'NOT_A_TABLE XML'
const json = 'NOT_A_TABLE JSON'
const many = (piece: string) => piece.repeat(Math.ceil((2 * sampleBytes) / piece.length))

const pages: [string, string | Uint8Array, string][] = [
  ['one line', '<html><body>Please sign in, or ask for help</body></html>', html],
  ['doctype', '\ufeff\n<!DOCTYPE html>\n<html lang="en">\n<head><title>503</title></head><body></body></html>\n', html],
  ['no end', '<html><body><h1>Service unavailable</h1>', html],
  ['fragment', '<h1>404 Not Found</h1><p>Nothing here</p>', html],
  ['comment first', '<!-- a,b -->\n<div class="login">a,b<br></div>', html],
  [
    'table of a vendor as .xls',
    '<meta charset=utf-8><style>td{a:b}</style><table border=1><tr><td>id</td><td>name</td></tr></table>',
    html,
  ],
  ['larger than the sample', `<html><body><table>${many('<tr><td>1</td><td>2, 3</td></tr>\n')}</table></body></html>`, html],
  ['UTF-16', Buffer.from('\ufeff<html><body>Bitte anmelden</body></html>', 'utf16le'), html],
  ['XML', '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>', xml],
  ['XML without a declaration', '<error code="1"/>', xml],
  ['XML larger than the sample', `<export>${many('<row a="1">x, y</row>\n')}</export>`, xml],
  ['SpreadsheetML', '<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook xmlns="urn:x"><Table/></Workbook>', xml],
  ['JSON object', '{"error":"Please sign in","code":401}', json],
  ['JSON of several lines', '{\n  "error": "a \\" b",\n  "rows": [1, -2.5e3, true, null]\n}\n', json],
  ['JSON array without objects', '[1,"x"]', json],
  ['empty JSON', '[]', json],
  ['JSON larger than the sample', `{"rows": [${many('{"id": 1, "name": "Example, Ltd"},\n')}{}]}`, json],
]
for (const [name, content, code] of pages) test(`not a table: ${name}`, t => t.is(codeOf(content), code))

test('JSON cut at any byte by the end of the sample is recognised', t => {
  for (let shift = 0; shift < 40; shift++)
    t.is(codeOf(`[0,${' '.repeat(shift)}${many('{"id": 10, "ok": false, "t": "a\\"b"},')}`), json, `${shift}`)
})

const tables: [string, string][] = [
  ['names in angle brackets', '<id>,<name>\n1,Ann\n'],
  ['one such column', '<Email>\n<ann@example.org>\n<bob@example.org>\n'],
  ['tag names as columns', '<html>;<body>\n1;2\n'],
  ['bold headers', '<b>Name</b>,<b>City</b>\nAnn,Paris\n'],
  ['one bold header', '<b>Name</b>\nAnn\n'],
  ['cells of HTML', '<p>Hello, you</p>;5\n<p>Bye</p>;6\n'],
  ['cells of XML', '<?xml version="1.0"?><a/>\t5\n'],
  ['a comment above the header', '<!-- export -->\nid,name\n1,2\n'],
  ['smaller than', '< 5,>= 5\n1,2\n'],
  ['many rows', `<id>,<name>\n${many('<1>,<2>\n')}`],
  ['names in braces', '{id},{name}\n1,2\n'],
  ['quoted names in braces', '{"id"},{"name"}\n1,2\n'],
  ['names in brackets', '[id],[name]\n1,2\n'],
  ['numbers in brackets', '[1],[2]\n[3],[4]\n'],
  ['a log', '[2024-01-01] started,1\n[2024-01-02] ended,2\n'],
  ['JSON in the first column', '{"a":1};x\n{"a":2};y\n'],
  ['JSON under a header', 'doc\n{"a":1}\n{"a":2}\n'],
  ['quoted JSON', '"{""a"":1}",x\n"{""a"":2}",y\n'],
  ['RTF is another refusal', '{\\rtf1 x}'],
  ['plain text', 'Please sign in'],
  ['nothing', ''],
]
for (const [name, content] of tables) test(`a table: ${name}`, t => t.is(codeOf(content), null))

test('a content type decides only together with the structure of the file', t => {
  const broken = '<br />\n<b>Fatal error</b>: no file, sorry\n'
  t.deepEqual([codeOf(broken), codeOf(broken, 'text/html; charset=utf-8')], [null, html])
  t.deepEqual([codeOf('"Please sign in"'), codeOf('"Please sign in"', 'application/problem+json')], [null, json])
  for (const type of ['text/html', 'application/xml', 'application/json'])
    for (const content of ['id,name\n1,2\n', '<id>,<name>\n1,2\n', '{id},{name}\n1,2\n', '"id","name"\n"1","2"\n'])
      t.is(codeOf(content, type), null, `${type} ${content}`)
  t.is(codeOf('<html><body>Sign in</body></html>', 'text/csv'), html)
})

test('hostile file starts are classified in bounded time', t => {
  const begun = performance.now()
  for (const piece of ['<p/>', '<p></p>', '<p>', '<!--', '{}\n', '{"a":', '[', '"\\', '\n', '<a ', '<br>']) {
    codeOf(`<p>${many(piece)}`)
    codeOf(`{}${many(piece)}x`)
    codeOf(many(piece))
  }
  t.true(performance.now() - begun < 2_000)
})
