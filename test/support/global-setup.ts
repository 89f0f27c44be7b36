export default async function globalSetup(): Promise<void> {
  // Shared services are started here.
}
