import {accounts, ok, openOrg} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'

/** A template of one file, which imports can use by its name. */
export const companies = {
  name: 'Companies',
  sources: [{slot: 'companies', label: 'Companies', columns: ['name', 'number', 'city']}],
  flows: [{id: 'f', sourceId: 'companies', ...accounts}],
}

export const openCompanies = async (house: TestDeployment) => {
  const org = await openOrg(house)
  const {secret} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'ci'}), 201)
  await ok(org.call('POST', `/orgs/${org.org}/templates`, companies), 201)
  return {org, secret: secret as string}
}
