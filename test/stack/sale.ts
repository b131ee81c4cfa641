import fs from 'node:fs'
import {join} from 'node:path'
import {openSupervisor, type SupervisorOptions} from './supervisor.ts'

/** The prices in the payment stand-in, in euro cents. They are examples, not an offer. */
const prices = {
  currency: 'eur',
  plans: {
    team: {month: 4900, year: 49_000, row: 1},
    business: {month: 19_900, year: 199_000, row: 1},
    enterprise: {month: 79_900, year: 799_000, row: 1},
  },
  packs: {credits_500: 1000, credits_2500: 4000, credits_10000: 12_000},
}

/**
 * Sets up prices, portal and webhook endpoint at the payment stand-in, as an operator does with `lading billing setup`. Call it before the API
 * starts, because the API then verifies them. Repeats a failed setup, because a busy machine may exceed its timeouts. After the third failure, the
 * stack starts nevertheless.
 */
export const openSale = async (directory: string, {cwd, env}: Pick<SupervisorOptions, 'cwd' | 'env'>): Promise<void> => {
  const file = join(directory, 'prices.json')
  fs.writeFileSync(file, JSON.stringify(prices))
  const supervisor = openSupervisor({cwd, env})
  const command = ['node', 'shared/billing/setup-command.ts', 'setup', '--prices', file]
  try {
    for (let failures = 0; failures < mostFailures; failures++) {
      const error = await supervisor.complete({name: 'sale', command}).catch(error => error as Error)
      if (!error) return
      console.error(error.message)
    }
  } finally {
    await supervisor.stop()
  }
}

const mostFailures = 3
