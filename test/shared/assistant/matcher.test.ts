import test from 'ava'
import {type Accepted, type MatchColumn, type MatchField, proposeMapping} from '../../../shared/assistant/matcher/propose.ts'
import {normalForm} from '../../../shared/assistant/matcher/words.ts'
import {fieldsOf} from '../../evaluation/evaluate.ts'

const mapped = (names: (string | MatchColumn)[], fields: MatchField[], accepted: Accepted[] = []) => {
  const columns = names.map(name => (typeof name === 'string' ? {name} : name))
  return Object.fromEntries(proposeMapping({columns, fields, accepted}).map(({column, field}) => [column, field]))
}

const [leads, contacts, accounts] = [fieldsOf('Leads'), fieldsOf('Contacts'), fieldsOf('Accounts')]

test('a field is found by its label, its API name and a local label of the org', t => {
  const fields: MatchField[] = [
    {apiName: 'Zq_1', label: 'Vertragsart', dataType: 'text', localLabels: ['Kind of contract']},
    {apiName: 'Zq_2', label: 'Laufzeit', dataType: 'text'},
  ]
  const [first, second, third] = proposeMapping({columns: [{name: 'vertragsART'}, {name: 'zq_2'}, {name: 'nothing'}], fields})
  t.like(first, {field: 'Zq_1', candidates: [{why: ['label']}]})
  t.like(second, {field: 'Zq_2', candidates: [{why: ['apiName']}]})
  t.like(third, {field: null, confidence: 0, candidates: []})
  t.like(proposeMapping({columns: [{name: 'KindOfContract'}], fields})[0], {field: 'Zq_1', candidates: [{why: ['localLabel']}]})
})

test('the kind of an address decides its fields, and only its first line is mapped', t => {
  const found = mapped(
    ['Ship-to Street', 'Ship-to Street 2', 'Bill-to Street', 'Delivery City', 'Town', 'Invoice Address Postcode'],
    accounts,
  )
  t.deepEqual(found, {
    'Ship-to Street': 'Shipping_Street',
    'Ship-to Street 2': null,
    'Bill-to Street': 'Billing_Street',
    'Delivery City': 'Shipping_City',
    Town: 'Billing_City',
    'Invoice Address Postcode': 'Billing_Code',
  })
})

test('neighbouring columns decide the meaning of a column', t => {
  t.deepEqual(mapped(['Nom', 'Prénom'], contacts), {Nom: 'Last_Name', Prénom: 'First_Name'})
  // Without the column of first names, `Nom` holds the whole name, which only the last name can take.
  t.deepEqual(mapped(['Nom', 'Téléphone'], contacts), {Nom: 'Last_Name', Téléphone: 'Phone'})
  t.deepEqual(mapped(['Estado', 'Ciudad', 'Calle'], leads), {Estado: 'State', Ciudad: 'City', Calle: 'Street'})
  t.deepEqual(mapped(['Name', 'Vorname'], contacts), {Name: 'Last_Name', Vorname: 'First_Name'})
})

test('two good matches are preferred to one very good match', t => {
  t.deepEqual(mapped(['Title', 'Job Title'], contacts), {Title: 'Salutation', 'Job Title': 'Title'})
  t.deepEqual(mapped(['Title'], contacts), {Title: 'Title'})
})

test('read-only fields are recognised and never proposed', t => {
  const found = proposeMapping({columns: [{name: 'Created Time'}, {name: 'Full Name'}, {name: 'Record Status'}], fields: leads})
  for (const {field, candidates} of found) {
    t.is(field, null)
    t.deepEqual(
      candidates.filter(({field: name}) => leads.find(({apiName}) => apiName === name)!.readOnly),
      [],
    )
  }
})

test('an accepted mapping comes first, and the more frequent one before the rarer', t => {
  const accepted = [
    {header: normalForm('Mobile'), module: 'Leads', field: 'Phone', times: 1},
    {header: normalForm('KND-Typ'), module: 'Leads', field: 'Rating', times: 2},
    {header: normalForm('KND-Typ'), module: 'Leads', field: 'Industry', times: 5},
    {header: normalForm('City'), module: 'Contacts', field: 'Description', times: 9},
    {header: normalForm('Street'), module: 'Leads', field: 'Created_Time', times: 9},
  ]
  t.deepEqual(mapped(['Mobile', 'KND Typ', 'City', 'Street'], leads, accepted), {
    Mobile: 'Phone',
    'KND Typ': 'Industry',
    City: 'City',
    Street: 'Street',
  })
  const [first] = proposeMapping({columns: [{name: 'Mobile'}], fields: leads, accepted})
  t.deepEqual(first!.candidates[0]!.why, ['accepted'])
  t.true(first!.confidence > 0.99)
})

test('sample values support a field, count against it, or exclude it', t => {
  const phone = (samples: string[]) => proposeMapping({columns: [{name: 'Phone', samples}], fields: leads})[0]!
  t.deepEqual(phone(['+49 30 1234567', '030 765432']).candidates[0]!.why, ['label', 'fingerprint'])
  t.is(phone(['yes', 'no', 'no', 'yes']).field, null)
  const link = (samples: string[]) => mapped([{name: 'URL', samples}], leads).URL
  t.is(link(['https://www.example.com', 'example.org/about', 'http://example.net']), 'Website')
  t.is(link(['https://www.linkedin.com/in/one', 'https://linkedin.com/in/two', 'https://linkedin.com/in/three']), null)
  t.is(link([]), null)
})

test('values that are options of a picklist identify its field', t => {
  const samples = ['Contacted', 'Lost Lead', 'Contacted', 'Not contacted']
  const [found] = proposeMapping({columns: [{name: 'Spalte 7', samples}], fields: leads})
  t.like(found, {field: 'Lead_Status'})
  t.true(found!.candidates[0]!.why.includes('options'))
})

test('a column name without meaning is decided by its values, if only one field fits them', t => {
  const samples = ['a@example.org', 'b@example.com', 'c@example.net']
  const [found] = proposeMapping({columns: [{name: 'xq', samples}], fields: fieldsOf('Vendors')})
  t.like(found, {field: 'Email', candidates: [{why: ['fingerprint']}]})
})

const opaque: [what: string, module: string, field: string, samples: string[]][] = [
  ['e-mail addresses', 'Leads', 'Email', ['a@example.org', 'b@example.com', 'c@example.net']],
  ['web addresses', 'Leads', 'Website', ['https://a.example', 'www.b.example', 'c.example/de']],
  ['telephone numbers', 'Contacts', 'Phone', ['+49 30 901820', '(555) 010-0199', '0170 1234567']],
  ['dates', 'Deals', 'Closing_Date', ['2026-01-31', '2026-02-28', '2026-03-15']],
  ['percentages', 'Deals', 'Probability', ['10 %', '50 %', '90%']],
  ['amounts', 'Deals', 'Amount', ['€ 1,200.00', 'EUR 950.50', '7,300.00 €']],
  ['options of a list', 'Leads', 'Lead_Source', ['Advertisement', 'Cold Call', 'Trade Show']],
  ['yes and no', 'Leads', 'Email_Opt_Out', ['true', 'false', 'true']],
]
for (const [what, module, field, samples] of opaque)
  test(`a column without a name that is full of ${what} is identified by its values`, t => {
    for (const name of ['Spalte 7', 'Column B', 'Field 3', 'C', '4', 'Kolumn 2'])
      t.is(proposeMapping({columns: [{name, samples}], fields: fieldsOf(module)})[0]!.field, field, name)
    t.is(proposeMapping({columns: [{name: 'Spalte 7', samples: ['aa', 'b1', 'c?']}], fields: fieldsOf(module)})[0]!.field, null)
  })

test('weak values do not identify a column with an unknown name', t => {
  const dates = {name: 'Gültig bis', samples: ['2026-01-31', '2026-02-28', '2026-03-15']}
  t.is(proposeMapping({columns: [dates], fields: fieldsOf('Contacts')})[0]!.field, null)
})

test('Swedish names, names of web forms and plain names find their fields', t => {
  const swedish = ['Förnamn', 'Efternamn', 'E-postadress', 'Mobilnummer', 'Företag', 'Postnummer', 'Ort']
  t.deepEqual(Object.values(mapped(swedish, leads)), ['First_Name', 'Last_Name', 'Email', 'Mobile', 'Company', 'Zip_Code', 'City'])
  t.deepEqual(mapped(['your-name', 'your-email'], leads), {'your-name': 'Last_Name', 'your-email': 'Email'})
  t.deepEqual(mapped(['name', 'business'], leads), {name: 'Last_Name', business: 'Company'})
  const short = {'Est. Close': 'Closing_Date', 'Win %': 'Probability'}
  t.deepEqual(mapped(Object.keys(short), fieldsOf('Deals')), short)
  t.deepEqual(mapped(['Name', 'First Name', 'Last Name'], leads), {Name: null, 'First Name': 'First_Name', 'Last Name': 'Last_Name'})
})

test('the type of a column is used if there are no samples', t => {
  t.is(mapped([{name: 'Phone', type: 'email'}], leads).Phone, null)
  t.true(proposeMapping({columns: [{name: 'E-Mail', type: 'email'}], fields: leads})[0]!.candidates[0]!.why.includes('fingerprint'))
})

test('fields of several modules are distinguished', t => {
  const fields = [...accounts, ...contacts]
  const found = proposeMapping({columns: [{name: 'Company Phone'}, {name: 'Contact Email'}, {name: 'Industry'}], fields})
  t.like(found[0], {field: 'Phone', module: 'Accounts'})
  t.like(found[1], {field: 'Email', module: 'Contacts'})
  t.like(found[2], {field: 'Industry', module: 'Accounts'})
})

test('no columns or no fields give no proposals', t => {
  t.deepEqual(proposeMapping({columns: [], fields: leads}), [])
  t.deepEqual(proposeMapping({columns: [{name: 'Email'}], fields: []}), [
    {column: 'Email', field: null, module: null, confidence: 0, candidates: []},
  ])
})

test('a plain url, link or status is proposed without values if neighbouring columns identify its module', t => {
  const fieldFor = (module: string, name: string, ...beside: string[]) =>
    proposeMapping({columns: [name, ...beside].map(name => ({name})), fields: fieldsOf(module)})[0]!.field
  for (const name of ['url', 'URL', 'Link', 'web_link']) {
    t.is(fieldFor('Accounts', name, 'Company', 'Street', 'City'), 'Website', name)
    t.is(fieldFor('Leads', name, 'First Name', 'Last Name', 'City'), null, 'of a person it may be a profile')
    t.is(fieldFor('Accounts', name, 'Company', 'Notes'), null)
  }
  t.is(fieldFor('Leads', 'Status', 'Company', 'Last Name', 'Lead Source'), 'Lead_Status')
  t.is(fieldFor('Leads', 'status', 'Firma', 'Nachname', 'Betreuer'), 'Lead_Status')
  t.is(fieldFor('Deals', 'Status', 'Deal Name', 'Owner'), 'Stage')
  t.is(fieldFor('Deals', 'Status', 'Deal Name', 'Stage', 'Owner'), null, 'the stage is told by another column')
  t.is(fieldFor('Leads', 'STATUS', 'EMAIL', 'FNAME', 'LNAME', 'OPTIN_TIME'), null)
})
