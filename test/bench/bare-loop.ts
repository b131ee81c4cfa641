import {Agent, request} from 'undici'
import {mapConcurrent} from '../../shared/concurrency/map-concurrent.ts'

export const rowsPerCall = 100

/** Returns the record that the flow `plain` of rows.ts would send. */
export const recordOf = (prefix: string, n: number) => ({
  Account_Number: `${prefix}${n}`,
  Account_Name: `Last ${n}`,
  Phone: `49 30 ${100_000 + n}`,
  Website: `www.c${n}.example`,
  Billing_Street: `${n % 200} Long  Street`,
  Billing_City: `City ${n % 97}`,
  Billing_State: `State ${n % 16}`,
  Billing_Code: `${10_000 + (n % 89_999)}`,
  Billing_Country: 'de',
  Annual_Revenue: n * 3 + 0.5,
  Employees: n % 5_000,
  Description: `First ${n % 997}`,
})

/** Returns the bodies of the calls that write this number of records. */
export const bodiesOf = (rows: number, prefix: string): string[] =>
  Array.from({length: rows / rowsPerCall}, (_, call) =>
    JSON.stringify({data: Array.from({length: rowsPerCall}, (_, at) => recordOf(prefix, call * rowsPerCall + at)), trigger: []}),
  )

/**
 * Posts the bodies, `atOnce` at a time, and returns the seconds. Reads the answers to their end and ignores them. Throws unless each has status
 * 201.
 */
export const postAll = async (url: string, token: string, bodies: string[], atOnce: number): Promise<number> => {
  const dispatcher = new Agent({pipelining: 1})
  const headers = {authorization: `Zoho-oauthtoken ${token}`, 'content-type': 'application/json'}
  const start = performance.now()
  try {
    await mapConcurrent(bodies, atOnce, async body => {
      const answer = await request(`${url}/crm/v8/Accounts`, {dispatcher, method: 'POST', headers, body})
      await answer.body.bytes()
      if (answer.statusCode !== 201) throw new Error(`A call was answered ${answer.statusCode}`)
    })
    return (performance.now() - start) / 1000
  } finally {
    await dispatcher.close()
  }
}
