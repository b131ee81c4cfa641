import type {Config} from '../config.ts'

/** The value of the metadata key `app`, which marks objects of Lading at the provider. */
export const APP = 'lading'

type MetadataInput = {org: string; kind: string} & Record<string, string | null>

/**
 * Returns the metadata of an object that we create: app, environment, org, purpose, and further values that are not null. The id of the
 * person who requested the object is the only personal data.
 */
export const metadataOf = (config: Pick<Config, 'PAYMENT_ENVIRONMENT'>, {org, ...values}: MetadataInput): Record<string, string> => ({
  app: APP,
  env: config.PAYMENT_ENVIRONMENT,
  org_id: org,
  ...Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null)),
})

/** Returns whether this deployment created the object. Several deployments may share the provider's account. */
export const isOurs = (config: Pick<Config, 'PAYMENT_ENVIRONMENT'>, metadata: Record<string, string> | null | undefined): boolean =>
  metadata?.app === APP && metadata.env === config.PAYMENT_ENVIRONMENT
