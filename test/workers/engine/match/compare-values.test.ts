import test from 'ava'
import {holdsAll, isComparable, isEqual, isNear} from '../../../../workers/engine/match/compare-values.ts'
import {field} from '../fixtures.ts'

const stage = field('F', {type: 'picklist', picklist: [{display: 'Open now', actual: 'Open'}]})
const tags = field('F', {type: 'multiselectpicklist', picklist: [{display: 'Red', actual: 'r'}]})
const places = field('F', {type: 'currency', decimalPlaces: 2})
const of = (type: string) => field('F', {type})

const long = 'All of it. '.repeat(100)

const equal: [string, ReturnType<typeof field>, unknown, unknown][] = [
  ['letters in another Unicode composition', of('text'), 'Jose\u0301', 'José'],
  ['leading and trailing blanks', of('text'), ' Soria ', 'Soria'],
  ['line endings', of('textarea'), 'a\r\nb', 'a\nb'],
  ['the case of an email address', of('email'), 'A@B.example', 'a@b.example'],
  ['the case of a web address', of('website'), 'Example.org/A', 'example.org/a'],
  ['digits beyond the decimal places of the field', places, 1.005, 1.01],
  ['a number read as text', of('integer'), 12, '12'],
  ['equal long numbers', of('bigint'), '9007199254740993', '9007199254740993'],
  ['a checkbox sent as false and absent in the record', of('boolean'), false, undefined],
  ['a day', of('date'), '2026-01-02', '2026-01-02'],
  ['a moment in another time zone', of('datetime'), '2026-01-02T10:00:00+02:00', '2026-01-02T08:00:00Z'],
  ['a moment cut to the second', of('datetime'), '2026-01-02T08:00:00.700Z', '2026-01-02T08:00:00+00:00'],
  ['a time with its seconds', of('time'), '08:30', '08:30:00'],
  ['a lookup with its name', of('lookup'), {id: '1'}, {id: '1', name: 'One'}],
  ['a picklist value read by its display name', stage, 'Open', 'Open now'],
  ['multi-select values in another order', tags, ['r', 'b'], ['b', 'Red']],
  ['multi-select values read as one text', tags, ['r', 'b'], 'b;Red'],
  ['rich text read without its tags', of('textarea'), '<b>Hello</b> you', '<div>Hello you</div>'],
  ['rich text truncated in a list', of('textarea'), `<p>${long}</p>`, `<p>${long}</p>`.slice(0, 500)],
  ['rich text truncated in a list within a tag', of('textarea'), `${'a'.repeat(497)}<b>b</b>`, `${'a'.repeat(497)}<b>`.slice(0, 500)],
  ['plain text truncated in a list', of('textarea'), long, long.slice(0, 500)],
]
for (const [what, asField, sent, read] of equal) test(`equal: ${what}`, t => t.true(isEqual([asField], {F: sent}, {F: read})))

const unequal: typeof equal = [
  ['long text with another beginning', of('textarea'), `b${long}`, `a${long}`.slice(0, 500)],
  ['long text shorter than the truncation limit', of('textarea'), long, long.slice(0, 499)],
  ['the case of a text', of('text'), 'soria', 'Soria'],
  ['another number', places, 1.01, 1.02],
  ['long numbers that a number would round', of('bigint'), '9007199254740993', '9007199254740992'],
  ['a checkbox sent as true and absent in the record', of('boolean'), true, undefined],
  ['another second', of('datetime'), '2026-01-02T08:00:01Z', '2026-01-02T08:00:00Z'],
  ['a text that is no moment', of('datetime'), '2026-01-02T08:00:01Z', 'soon'],
  ['another lookup', of('lookup'), {id: '1'}, {id: '2'}],
  ['fewer multi-select values', tags, ['r', 'b'], ['r']],
  ['an empty field', of('text'), 'a', null],
]
for (const [what, asField, sent, read] of unequal) test(`not equal: ${what}`, t => t.false(isEqual([asField], {F: sent}, {F: read})))

test('empty values and fields that the CRM fills are not compared, and a record without any compared field is not equal', t => {
  const fields = [field('Name'), field('Phone'), field('No', {type: 'autonumber'})]
  t.true(isEqual(fields, {Name: 'a', Phone: null, No: 'x'}, {Name: 'a', Phone: '1', No: 'y'}))
  t.false(isEqual(fields, {Phone: null, No: 'x'}, {Phone: null, No: 'x'}))
})

test('a record is near if its identifying fields agree, even if other fields differ', t => {
  const fields = [field('Name'), field('City'), field('Code')]
  const sent = {Name: 'a', City: 'b', Code: 'c'}
  t.true(isNear(fields, sent, {Name: 'a', City: 'other', Code: 'c'}, ['Name', 'Code']))
  t.false(isNear(fields, sent, {Name: 'a', City: 'b', Code: 'other'}, ['Name', 'Code']))
  t.false(isNear(fields, sent, {Name: 'a', City: 'other', Code: 'other'}, ['Name']), 'another record of the same name')
  t.true(isNear(fields, sent, {Name: 'other', City: 'b', Code: 'other'}, [null, undefined]))
  t.false(isNear(fields, sent, {Name: 'other', City: 'other'}, [null]))
})

const strict: [type: string, sent: unknown, same: unknown[], different: unknown[]][] = [
  ['text', ' Acme ', ['Acme'], ['acme', 'Acme Ltd', null, undefined]],
  ['text', 'é', ['é'], ['e\u0301']],
  ['text', null, [null, ''], ['Acme', undefined]],
  ['email', 'a@b.example', ['a@b.example'], ['A@b.example']],
  ['textarea', 'one\r\ntwo', ['one\ntwo'], ['one two', null]],
  ['textarea', 'x'.repeat(500), [], ['x'.repeat(500)]],
  ['boolean', false, [false], [true, null, undefined]],
  ['integer', 5, [5, '5'], [6, null]],
  ['currency', 7.5, [7.5, '7.50'], [7.51, null]],
  ['bigint', '9007199254740993', ['9007199254740993'], ['9007199254740992']],
  ['date', '2026-03-01', ['2026-03-01'], ['2026-03-02', null]],
  ['datetime', '2026-03-01T10:00:00+00:00', ['2026-03-01T11:00:00+01:00'], ['2026-03-01T10:00:01+00:00', null]],
  ['time', '10:00', ['10:00', '10:00:00'], ['10:00:30']],
  ['lookup', {id: '1'}, [{id: '1'}], [{id: '2'}, null]],
  ['ownerlookup', {email: 'a@b.example'}, [], [{id: '1'}]],
  ['multiselectpicklist', ['a', 'b'], [['b', 'a']], [['a'], ['a', 'b', 'c'], null]],
]

for (const [type, sent, same, different] of strict)
  test(`a record counts as unchanged only if its ${type} equals ${JSON.stringify(sent)?.slice(0, 40)}`, t => {
    const fields = [{apiName: 'A', type, picklist: [], decimalPlaces: 2}]
    for (const read of same) t.true(holdsAll(fields, {A: sent}, {A: read}), `same: ${JSON.stringify(read)}`)
    for (const read of different) t.false(holdsAll(fields, {A: sent}, {A: read}), `different: ${JSON.stringify(read)}`)
  })

test('a value of a field that is not compared counts as a change', t => {
  t.false(holdsAll([{apiName: 'A', type: 'text', picklist: []}], {A: 'x', B: 'y'}, {A: 'x', B: 'y'}))
  for (const type of ['tag', 'subform', 'fileupload', 'richtext', 'a type of next year']) t.false(isComparable({type}))
})
