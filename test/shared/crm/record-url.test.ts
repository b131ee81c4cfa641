import test from 'ava'
import {openRecordUrls} from '../../../shared/crm/record-url.ts'

const config = {CRM_HOSTS: [], CRM_STANDIN_URL: undefined}
const eu = {kind: 'zoho', dc: 'eu', apiDomain: 'https://www.zohoapis.eu'}

test('a record of a standard module has a page at the data centre of its connection', t => {
  const urlOf = openRecordUrls(config, eu)
  t.is(urlOf('Leads', '42'), 'https://crm.zoho.eu/crm/EntityInfo.do?module=Leads&id=42')
  t.is(urlOf('Deals', '42'), 'https://crm.zoho.eu/crm/EntityInfo.do?module=Potentials&id=42')
  const canada = {kind: 'zoho', dc: 'ca', apiDomain: 'https://www.zohoapis.ca'}
  t.is(openRecordUrls(config, canada)('Contacts', '1'), 'https://crm.zohocloud.ca/crm/EntityInfo.do?module=Contacts&id=1')
})

test('records of custom modules, sandboxes, developer orgs, other destinations and unknown data centres have no known page', t => {
  t.is(openRecordUrls(config, eu)('Vehicles', '42'), null)
  t.is(openRecordUrls(config, eu)('Leads', null), null)
  t.is(openRecordUrls(config, {...eu, apiDomain: 'https://sandbox.zohoapis.eu'})('Leads', '42'), null)
  t.is(openRecordUrls(config, {...eu, apiDomain: 'https://developer.zohoapis.eu'})('Leads', '42'), null)
  t.is(openRecordUrls(config, {...eu, kind: 'generic'})('Leads', '42'), null)
  t.is(openRecordUrls(config, {...eu, dc: 'mars'})('Leads', '42'), null)
})
