import test from 'ava'
import {parseCases} from '../../api/clients/cli/import-tests/case.ts'
import {junitOf} from '../../api/clients/cli/import-tests/junit.ts'

test('the error of a damaged case names the file, the number of the case and the mistake', t => {
  const wrong = (text: string) => t.throws(() => parseCases('a.yaml', text))!.message
  t.regex(wrong('a: ['), /^a\.yaml is not YAML: /)
  t.is(
    wrong('- {template: T, files: a.csv, expect: {counts: {}}}\n- 7'),
    'a.yaml, case 2: a case is an object with template, files and expect',
  )
  t.regex(wrong('{template: T, files: a.csv, expects: {}}'), /case 1: expects is not a key of a case/)
  t.regex(wrong('{template: T, files: a.csv, expect: {}}'), /expect needs counts, rows or records/)
  t.regex(wrong('{template: T, files: [a], expect: {counts: {}}}'), /files is a path, or a path for each slot/)
  t.like(parseCases('b/a.yaml', '{template: T, files: a.csv, expect: {counts: {}}}')[0], {name: 'T', files: {'': 'b/a.csv'}})
})

test('an expectation that would always fail or always pass is refused when its case is read', t => {
  const read = (expect: string, more = '') => parseCases('a.yaml', `{template: T, files: a.csv, expect: ${expect}${more}}`)
  const wrong = (expect: string, more?: string) => t.throws(() => read(expect, more), undefined, expect).message
  for (const row of [
    '',
    'null',
    '{}',
    '7',
    '{code: BLANK}',
    '{Leads: null}',
    '{Leads: {}}',
    '{Leads: {field: Phone}}',
    'ceated',
    '{outcome: BLANK}',
    '[skipped]',
    '{outcome: failed, feild: Phone}',
    '{Leads: {outcome: failed, message: Blank}}',
  ])
    t.regex(wrong(`{rows: {3: ${row}}}`), /^a\.yaml, case 1: expect\.rows\.3 needs an outcome, or \{outcome: /, row)
  t.regex(wrong('{rows: {leads: skipped}}'), /expect\.rows\.leads needs .* With several files, list rows by slot/)
  t.regex(wrong('{rows: {leads: {3: {}}}}'), /expect\.rows\.leads needs /)
  t.regex(wrong('{rows: null}'), /expect\.rows has an outcome for each row/)
  for (const counts of [
    'null',
    '{created: null}',
    '{created: "2"}',
    '{created: 2, Leads: {created: 1}}',
    '{craeted: 2}',
    '{Leads: {failled: 0}}',
  ])
    t.regex(wrong(`{counts: ${counts}}`), /expect\.counts has a number for each outcome, or/, counts)
  for (const records of ['null', '{Leads: null}', '{Leads: [null]}']) {
    t.regex(wrong(`{records: ${records}}`), /expect\.records lists records by module/, records)
    if (records !== 'null') t.regex(wrong('{counts: {}}', `, crm: {records: ${records}}`), /crm\.records lists records by module/, records)
  }
  t.regex(wrong('{counts: {}}', ', answers: [null]'), /answers is a list of objects/)
  const good = ['3: skipped', '3: {outcome: failed, code: null}', '3: {Leads: created, Tasks: {outcome: failed}}', 'leads: {3: skipped}']
  for (const rows of good) t.is(read(`{rows: {${rows}}, counts: {Leads: {created: 1}}, records: {Leads: []}}`).length, 1, rows)
})

test('JUnit text is escaped, and control characters are left out', t => {
  const difference = {module: 'A', field: 'B', row: 3, message: '<"&\u0007>'}
  const xml = junitOf([{suite: 'a', name: 'b & c', ms: 1500, passed: false, differences: [difference]}])
  t.true(xml.includes('name="b &amp; c" time="1.500"'))
  t.true(xml.includes('row 3, A.B: &lt;&quot;&amp;'))
  t.false(xml.includes('\u0007'))
})
