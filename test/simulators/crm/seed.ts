import type {OrgSpec} from './schema.ts'
import {customModules} from './seed-custom-modules.ts'
import {inventoryModules, standardModules} from './seed-modules.ts'

const modules = [...standardModules, ...customModules, ...inventoryModules]

/** A company with the enterprise edition, one with standard, a sandbox, and one in another data centre. */
export const seedOrgs: OrgSpec[] = [
  {
    key: 'example',
    companyName: 'Example Ltd',
    prefix: '4400001',
    zgid: '20077',
    edition: 'enterprise',
    licences: 12,
    users: [
      {email: 'ana@example.org', firstName: 'Ana', lastName: 'Ruiz', profile: 'Administrator', role: 'CEO'},
      {email: 'ben@example.org', firstName: 'Ben', lastName: 'Okoye', profile: 'Standard', role: 'Manager'},
      {email: 'eva@example.org', firstName: 'Eva', lastName: 'Lind', profile: 'Administrator', role: 'Manager'},
    ],
    modules,
  },
  {
    key: 'other',
    companyName: 'Other GmbH',
    prefix: '5500002',
    zgid: '20088',
    edition: 'standard',
    licences: 3,
    timeZone: 'Europe/Berlin',
    country: 'DE',
    currency: {name: 'Euro', code: 'EUR', symbol: '€', locale: 'de_DE'},
    users: [{email: 'zoe@other.example', firstName: 'Zoe', lastName: 'Park', profile: 'Administrator', role: 'CEO'}],
    modules,
  },
  {
    key: 'sandbox',
    companyName: 'Example Ltd Sandbox',
    prefix: '6600003',
    zgid: '20099',
    type: 'sandbox',
    edition: 'enterprise',
    licences: 5,
    users: [{email: 'sam@sandbox.example', firstName: 'Sam', lastName: 'Weber', profile: 'Administrator', role: 'CEO'}],
    modules,
  },
  {
    key: 'eu',
    companyName: 'Nordwind Oy',
    prefix: '7700004',
    zgid: '20111',
    edition: 'professional',
    licences: 8,
    dc: 'eu',
    timeZone: 'Europe/Helsinki',
    country: 'FI',
    users: [{email: 'kim@eu.example', firstName: 'Kim', lastName: 'Aalto', profile: 'Administrator', role: 'CEO'}],
    modules,
  },
]
