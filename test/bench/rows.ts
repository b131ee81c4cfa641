import type {FlowOf} from './bench-import.ts'

/** Builds a file of twelve columns, with about a hundred bytes per row. */
export const fileOf = (rows: number, prefix: string): Buffer => {
  const pieces: Buffer[] = [Buffer.from(`${columns.join(',')}\n`)]
  for (let from = 0; from < rows; from += 10_000) {
    const lines = Array.from({length: Math.min(10_000, rows - from)}, (_, at) => lineAt(prefix, from + at))
    pieces.push(Buffer.from(`${lines.join('\n')}\n`))
  }
  return Buffer.concat(pieces)
}

const columns = ['number', 'first', 'last', 'phone', 'site', 'street', 'city', 'state', 'zip', 'country', 'revenue', 'staff']

/** Returns the cells of a row by column, as CSV texts. No cell has a comma. */
export const cellsAt = (prefix: string, n: number): Record<string, string> =>
  Object.fromEntries(
    lineAt(prefix, n)
      .split(',')
      .map((cell, at) => [columns[at]!, cell]),
  )

const lineAt = (prefix: string, n: number) =>
  `${prefix}${n},First ${n % 997},Last ${n},49 30 ${100_000 + n},www.c${n}.example,"${n % 200} Long  Street",City ${n % 97},State ${n % 16},${10_000 + (n % 89_999)},de,${n * 3}.50,${n % 5_000}`

const column = (field: string, source: string) => ({field, mode: 'column', source})
const made = (field: string, transform: string) => ({field, mode: 'expression', transform})

/** Ten expressions over the columns of `fileOf`. */
export const expressions: Record<string, string> = {
  Account_Name: 'row.first.trim() + " " + row.last.trim()',
  Phone: "row.phone ? '+' + row.phone : null",
  Website: "'https://' + row.site.toLowerCase()",
  Billing_Street: "row.street.replace(/\\s+/g, ' ')",
  Billing_City: 'row.city.toUpperCase()',
  Billing_State: "row.state ?? ''",
  Billing_Country: "row.country === 'de' ? 'Germany' : row.country",
  Annual_Revenue: 'Number(row.revenue) || 0',
  Employees: "Number(row.staff.split('.')[0])",
  Description: "row.zip.length > 4 ? 'long ' + row.zip : 'short'",
}

/** A flow with these expressions and two unchanged columns, which does the work of a usual import. */
export const withExpressions: FlowOf = {
  module: 'Accounts',
  fields: [
    column('Account_Number', 'number'),
    column('Billing_Code', 'zip'),
    ...Object.entries(expressions).map(([field, source]) => made(field, source)),
  ],
}

/** A flow of the same columns without expressions. */
export const plain: FlowOf = {
  module: 'Accounts',
  fields: [
    column('Account_Number', 'number'),
    column('Account_Name', 'last'),
    column('Phone', 'phone'),
    column('Website', 'site'),
    column('Billing_Street', 'street'),
    column('Billing_City', 'city'),
    column('Billing_State', 'state'),
    column('Billing_Code', 'zip'),
    column('Billing_Country', 'country'),
    column('Annual_Revenue', 'revenue'),
    column('Employees', 'staff'),
    column('Description', 'first'),
  ],
}
