import test from 'ava'
import {completeAt, type KnownWords} from '../../api/clients/widget/expressions/complete.ts'
import {examplesFor} from '../../api/clients/widget/expressions/examples.ts'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery']})
})

const known: KnownWords = {
  columns: ['First name', "Dealer's code", 'City'],
  hasValue: true,
  helpers: [
    {name: 'trim', call: 'trim(text)', description: 'Without blanks'},
    {name: 'title', call: 'title(text)', description: 'Capitals'},
  ],
  libraries: [{namespace: 'names', functions: [{name: 'full', call: 'full(first, last)', description: 'Full name'}]}],
}
/** Completes at the character `|`, and returns the texts with the first one inserted. */
const complete = (marked: string) => {
  const [caret, source] = [marked.indexOf('|'), marked.replace('|', '')]
  const {from, to, suggestions} = completeAt(source, caret, known)
  return {texts: suggestions.map(({text}) => text), first: source.slice(0, from) + (suggestions[0]?.text ?? '') + source.slice(to)}
}

test('columns, helpers and functions of libraries are completed where they fit', t => {
  t.is(complete("row['fi|").first, "row['First name']")
  t.is(complete("row['fi|'] + 1").first, "row['First name'] + 1", 'the closing characters are not doubled')
  t.is(complete('row[|').texts.length, 3)
  t.is(complete('row.ci|').first, "row['City']")
  t.is(complete('dealer|').first, "row['Dealer\\'s code']")
  t.deepEqual(complete('helpers.t|').texts, ['helpers.trim(', 'helpers.title('])
  t.is(complete('helpers.title(val|').first, 'helpers.title(value')
  t.is(complete('names.|').first, 'names.full(')
  t.is(complete('nam|').texts.includes('names.'), true)
})

test('nothing is completed inside a text, after a number, or where nothing fits', t => {
  for (const marked of ["'fir|", '1|', '|', 'helpers.nothing|', 'unknown.t|']) t.deepEqual(complete(marked).texts, [], marked)
})

test('every example gives a value for rows of the file, and every listed helper can be called', async t => {
  const {call, org} = await openOrg(house)
  const columns = ['Cell', "Dealer's code"]
  const tryIt = async (expression: string, cell: string) =>
    (await ok(call('POST', `/orgs/${org}/expressions/test`, {expression, columns, rows: [[cell, 'x']], source: 'Cell'}), 200)).results[0]
  const cells: Record<string, string> = {'A date such as 31.12.2026': '31.12.2026', 'A number with a decimal comma': '1,5'}
  for (const source of [null, 'Cell'])
    for (const {label, expression} of examplesFor(columns, source)) {
      const result = await tryIt(expression, cells[label] ?? 'Y n')
      t.not(result.value ?? null, null, `${label}: ${JSON.stringify(result)}`)
    }
  const {helpers} = await ok(call('GET', `/orgs/${org}/expressions/helpers`), 200)
  t.true(helpers.length > 15)
  for (const {name, call: form, description} of helpers) {
    t.true(form.startsWith(`${name}(`), form)
    t.true(description.length > 0, name)
    t.is((await tryIt(`typeof helpers.${name}`, '')).value, 'function', name)
  }
})
