export default async function globalTeardown(): Promise<void> {
  // Shared services are stopped here.
}
