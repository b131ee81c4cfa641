import test from 'ava'
import fc from 'fast-check'
import {format as formatBy} from 'numfmt'
import {displayNumber, parseFormat} from '../../../shared/files/xlsx/number-format.ts'

const display = (code: string, digits: string) => displayNumber(parseFormat(code), digits)

/** Returns the display by an independent formatter with the same Excel rules. */
const independent = (code: string, digits: string) => formatBy(code, Number(digits)).trim()
const decimalsIn = (text: string) => /\.(\d+)/.exec(text)?.[1]?.length ?? 0
const numberIn = (text: string) => Number(text.replace(/[^\d.-]/g, ''))

type Kind = ReturnType<typeof display>['kind']
const numbers: [code: string, stored: string, kind: Kind, text: string][] = [
  ['0%', '0.25', 'percent', '25'],
  ['0.0%', '0.25', 'percent', '25'],
  ['0.0%', '1', 'percent', '100'],
  ['0.0%', '0.075', 'percent', '7.5'],
  ['0.00%', '0.070000000000000007', 'percent', '7'],
  ['0.00%', '0.30000000000000004', 'percent', '30'],
  ['0.00%', '-0.125', 'percent', '-12.5'],
  ['0%', '0', 'percent', '0'],
  ['0%', '0.125', 'percent', '12.5'],
  ['0.0%;[Red]-0.0%', '-0.055', 'percent', '-5.5'],
  ['#,##0.0%', '123.456', 'percent', '12345.6'],
  ['0.0 %', '0.25', 'percent', '25'],
  ['%0', '0.25', 'percent', '25'],
  ['[Green][>=0.5]0%;[Red]0%', '0.25', 'percent', '25'],
  ['[<1]0.0%;0.0', '0.25', 'percent', '25'],
  ['[<1]0.0%;0.0', '2.5', 'number', '2.5'],
  ['0.0%;-0.0%;"-"', '0.5', 'percent', '50'],
  ['0%;@', '0.25', 'percent', '25'],
  ['0%;@', '-0.25', 'percent', '-25'],
  ['0.0%_);\\(0.0%\\);@', '0', 'percent', '0'],
  ['0,;@', '-5000', 'scaled', '-5'],
  ['@', '-0.25', 'number', '-0.25'],
  ['0"%"', '25', 'number', '25'],
  ['0\\%', '25', 'number', '25'],
  ['0.00_%', '25', 'number', '25'],
  ['#,##0.00 [$€-407]', '1234.5', 'number', '1234.5'],
  ['[$$-409]#,##0.00;[Red]-[$$-409]#,##0.00', '-1234.5', 'number', '-1234.5'],
  ['"$"#,##0.00_);("$"#,##0.00)', '-12.345', 'number', '-12.345'],
  ['_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)', '12.5', 'number', '12.5'],
  ['# ?/?', '0.5', 'number', '0.5'],
  ['# ??/??', '3.25', 'number', '3.25'],
  ['0.00E+00', '12345', 'number', '12345'],
  ['##0.0E+0', '12345', 'number', '12345'],
  ['# ##0', '1234567', 'number', '1234567'],
  ['#,##0', '1234567', 'number', '1234567'],
  ['0.00', '12.345', 'number', '12.345'],
  ['#0', '5', 'number', '5'],
  ['0.0 "kg"', '5.5', 'number', '5.5'],
  ['"No. "0', '5', 'number', '5'],
  ['#,##0,', '1234567', 'scaled', '1234.567'],
  ['0.0,,"M"', '1234567', 'scaled', '1.234567'],
  ['General', '12345.678', 'number', '12345.678'],
]

for (const [code, stored, kind, text] of numbers)
  test(`${stored} in the format ${code} is read as ${text}`, t => {
    t.deepEqual(display(code, stored), {kind, text})
    if (kind === 'number') return
    // Rounded to the displayed places, the text equals the display of the other formatter.
    const displayed = independent(code, stored)
    t.is(Number(Number(text).toFixed(decimalsIn(displayed))), numberIn(displayed))
  })

const masks: [code: string, stored: string, text: string][] = [
  ['00000', '501', '00501'],
  ['00000', '-501', '-00501'],
  ['00000', '123456', '123456'],
  ['00000', '0', '00000'],
  ['00000-0000', '5011234', '00501-1234'],
  ['000-00-0000', '12345678', '012-34-5678'],
  ['000\\-00\\-0000', '12345678', '012-34-5678'],
  ['[<=9999999]###-####;(###) ###-####', '5551234', '555-1234'],
  ['[<=9999999]###-####;(###) ###-####', '5551234567', '(555) 123-4567'],
  ['"ID-"00000', '42', 'ID-00042'],
  ['00000;-00000', '-501', '-00501'],
  ['000.00', '1.5', '001.50'],
  ['0"h"00', '1230', '12h30'],
  ['00 00 00', '12345', '01 23 45'],
  ['0#" "##" "##" "##" "##', '612345678', '06 12 34 56 78'],
  ['0####', '501', '0501'],
]

for (const [code, stored, text] of masks)
  test(`${stored} in the format ${code} is displayed as ${text}`, t => {
    t.deepEqual(display(code, stored), {kind: stored === text ? 'number' : 'padded', text})
    t.is(independent(code, stored), text)
  })

test('each percent sign counts, and so does a comma before the decimal point', t => {
  t.deepEqual(display('0%%', '0.0025'), {kind: 'percent', text: '25'})
  t.deepEqual(display('0,.0', '1234'), {kind: 'scaled', text: '1.234'})
})

test('a mask that would round a number leaves it unchanged', t => {
  t.deepEqual(display('00000', '501.25'), {kind: 'number', text: '501.25'})
  t.deepEqual(display('000.0', '1.25'), {kind: 'number', text: '1.25'})
})

test('percentages of any stored number equal the displayed ones to fifteen digits', t => {
  fc.assert(
    fc.property(fc.double({min: -1000, max: 1000, noNaN: true}), value => {
      const stored = value.toFixed(12)
      const {text} = display('0.0000000000%', stored)
      t.true(Math.abs(Number(text) - Number(stored) * 100) < 1e-9, `${stored} is read as ${text}`)
      t.true(text.replace(/\D/g, '').replace(/^0+/, '').length <= 15)
    }),
  )
})

test('an unusual format code is read in time linear in its length', t => {
  for (const code of ['', ';', ';;;;;;', '"', '\\', '[', '[$', '*', '_', '@', '%', '0.0.0.0', ',,,', 'E+', '0E+', '!'])
    t.is(typeof display(code, '1.5').text, 'string', code)
})
