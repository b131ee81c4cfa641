/** The storage has no object with this key: the object was removed, or its upload never completed. */
export class StorageMissing extends Error {
  override name = 'StorageMissing'
  readonly key: string

  constructor(key: string, options?: ErrorOptions) {
    super(`Nothing is stored as ${key}`, options)
    this.key = key
  }
}
