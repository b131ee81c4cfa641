import test from 'ava'
import {describeBreach} from '../../api/clients/widget/templates/breach-text.ts'
import {setLanguage} from '../../api/clients/widget/text/language.ts'
import {exactPercent, percentDone, rate} from '../../api/clients/widget/ui/format.ts'

test('a rate has one decimal below ten, with the decimal sign of the language', t => {
  t.deepEqual([rate(0.26), rate(9), rate(1234.5)], ['0.3', '9.0', '1,235'])
  setLanguage('de', null)
  t.teardown(() => setLanguage('en', null))
  t.is(rate(2.5), '2,5')
})

test('a small share of empty cells is shown with its digits, and not as the limit of 0 %', t => {
  t.deepEqual([0, 0.00001, 0.004, 0.12345, 1].map(exactPercent), ['0%', '0.001%', '0.4%', '12.35%', '100%'])
  const breach = {slot: 's', label: 'Companies', column: 'city', expectation: 'empty', message: ''}
  const said = describeBreach({...breach, expected: {share: 0}, actual: {share: 0.001}})
  t.is(said, 'city: 0.1% of the cells are empty, at most 0% may be')
})

test('a run shows 100 % only when every row is done', t => {
  t.deepEqual([percentDone(999, 1000), percentDone(29, 100), percentDone(3, 3), percentDone(0, 0)], ['99%', '29%', '100%', '0%'])
})
