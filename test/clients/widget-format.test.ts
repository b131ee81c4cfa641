import test from 'ava'
import {describeBreach} from '../../api/clients/widget/templates/breach-text.ts'
import {setLanguage} from '../../api/clients/widget/text/language.ts'
import {decimalsOf, exactPercent, money, percentDone, rate} from '../../api/clients/widget/ui/format.ts'
import {decimalsOf as decimalsOfNotice} from '../../shared/notifications/notice-text.ts'

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

/** Currencies that `Intl` shows with other decimals than the payment provider's amounts have. The provider offers most of them. */
const shownOtherwise = 'AFN ALL COP HUF IDR IQD IRR ISK KPW LAK LBP LYD MMK PKR SLL SOS SYP UGX YER'

test('an amount has the decimals of the payment provider, in the widget as in notices', t => {
  for (const currency of Intl.supportedValuesOf('currency')) {
    const shown = new Intl.NumberFormat('en', {style: 'currency', currency}).resolvedOptions().maximumFractionDigits
    t.is(decimalsOf(currency), shownOtherwise.includes(currency) ? 2 : shown!, currency)
    t.is(decimalsOfNotice(currency), decimalsOf(currency), currency)
  }
  const amounts = [money(1_990_000, 'huf'), money(1_990_050, 'huf'), money(500, 'isk'), money(500, 'ugx'), money(4900, 'eur')]
  t.deepEqual(amounts.map(plainSpaces), ['HUF 19,900', 'HUF 19,900.5', 'ISK 5', 'UGX 5', '€49.00'])
  t.deepEqual([money(500, 'jpy'), money(5120, 'kwd')].map(plainSpaces), ['¥500', 'KWD 5.120'])
})

const plainSpaces = (text: string) => text.replace(/\s/g, ' ')
