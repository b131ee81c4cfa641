/** No object under this key: it was removed, or never completed. */
export class StorageMissing extends Error {
  override name = 'StorageMissing'
  readonly key: string

  constructor(key: string, options?: ErrorOptions) {
    super(`Nothing is stored as ${key}`, options)
    this.key = key
  }
}
