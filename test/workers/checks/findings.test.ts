import test from 'ava'
import {openFindings} from '../../../workers/checks/findings.ts'

test('a cut message has no half character and no NUL, which Postgres rejects', t => {
  const findings = openFindings()
  const note = (row: number, first: string) =>
    findings.note({severity: 'error', kind: 'invalid_value'}, {row, message: `${first}${'x'.repeat(998)}😀`})
  for (const [row, first] of [
    [2, '\0'],
    [1, 'y'],
  ] as const) {
    note(row, first)
    t.is(findings.list()[0]?.message, `${first === '\0' ? '\ufffd' : first}${'x'.repeat(998)}\ufffd`)
  }
})
