import {writeForeign} from './foreign.ts'
import type {SimulatorState} from './simulator-state.ts'

const accounts = [
  ['Harbour Foods', 'ACC-1001', 'Bilbao', 'Spain', 'Food'],
  ['Nordlicht Energie', 'ACC-1002', 'Hamburg', 'Germany', 'Energy'],
  ['Petit Atelier', 'ACC-1003', 'Lyon', 'France', 'Manufacturing'],
  ['Green Lane Clinics', 'ACC-1004', 'Leeds', 'United Kingdom', 'Healthcare'],
  ['Ponte Logistica', 'ACC-1005', 'Genoa', 'Italy', 'Transport'],
  ['Clearwater School', 'ACC-1006', 'Cork', 'Ireland', 'Education'],
] as const

const people = [
  ['Mikel', 'Arana', 0],
  ['Jule', 'Brandt', 1],
  ['Chloé', 'Mercier', 2],
  ['Tom', 'Ashby', 3],
] as const

/** Adds a few records to the first org for manual use. */
export const addSampleRecords = (world: SimulatorState) => {
  const add = (module: string, record: Record<string, unknown>): string => String(writeForeign(world, {module, record}).details.id)
  const ids = accounts.map(([Account_Name, Account_Number, Billing_City, Billing_Country, Industry]) =>
    add('Accounts', {Account_Name, Account_Number, Billing_City, Billing_Country, Industry}),
  )
  for (const [First_Name, Last_Name, at] of people) {
    add('Contacts', {First_Name, Last_Name, Email: emailOf(First_Name, Last_Name), Account_Name: {id: ids[at]}})
  }
  add('Leads', {First_Name: 'Yuki', Last_Name: 'Ono', Company: 'Ono & Sons', Email: 'yuki@ono.example', Lead_Status: 'New'})
  const lines = [
    {Product: 'Crate', Quantity: 12, Price: 4.5},
    {Product: 'Pallet', Quantity: 2, Price: 19},
  ]
  add('Orders', {Name: 'First order', Code: 'O-1', Account: {id: ids[0]}, Order_Lines: lines})
}

const emailOf = (...names: string[]) =>
  `${names
    .join('.')
    .normalize('NFD')
    .replace(/[^A-Za-z.]/g, '')
    .toLowerCase()}@example.net`
